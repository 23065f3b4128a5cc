import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '@svault/server-kit/logger';
import { randomToken, toBase64url } from '@svault/shared';
import { LogSink } from '@svault/test-kit/log-sink';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { tempDir } from '@svault/test-kit/temp-dir';
import { webhookOfTest } from './support/bound-webhook.ts';
import { command } from './support/run-webhook.ts';

const plain = (value: string) => ({ tokenType: 'PlainText', value });

test('No secret is in a log, a file, a backup, a metric or a response other than its delivery', async () => {
  const log = new LogSink();
  const logger = createLogger({ name: 'webhook', level: 'trace', format: 'json', destination: log });
  const webhook = await webhookOfTest({ logger, env: { SV_METRICS_LISTEN: '127.0.0.1:0' } });
  const secret = (): string => `canary/+ é"${randomToken()}\\`;
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const [value, access, refresh, client, chain] = [secret(), secret(), secret(), secret(), secret()];
  const [replaced, misplaced, stored, deleted] = [secret(), secret(), secret(), secret()];
  const answers: string[] = [];
  const keep = ({ text, headers }: { text: string; headers: Headers }): void => {
    answers.push(text, JSON.stringify([...headers]));
  };

  const provider = { tokenUrl: 'https://provider.test/t', clientId: 'id', clientSecret: client };
  keep(await webhook.store('plain', plain(value)));
  keep(
    await webhook.store('jwt', { tokenType: 'JWT', accessToken: access, refreshToken: refresh, provider }),
  );
  keep(await webhook.store('tls', { tokenType: 'Certificate', certificate: chain, privateKey: pem }));
  keep(await webhook.store('ssh', { tokenType: 'SSHKey', privateKey: pem }));
  keep(await webhook.store('former', plain(replaced)));
  keep(await webhook.store('former', plain('another')));
  keep(await webhook.store('gone', plain(deleted)));
  keep(await webhook.storage({ op: 'tokens.delete', serviceName: 'gone' }));
  // Refusals that saw a secret.
  keep(await webhook.store('x', { tokenType: 'PlainText', value: misplaced, more: misplaced }));
  keep(await webhook.store('x', { tokenType: misplaced }));
  keep(await webhook.store('x', { tokenType: 'PlainText', value: { misplaced } }));
  keep(await webhook.store('x', `{"tokenType":"PlainText","value":"${encodeURI(misplaced)}`));
  keep(await webhook.store('x', { tokenType: 'JWT', accessToken: 'a', allowedHosts: [misplaced] }));
  keep(await webhook.storage({ op: 'tokens.get', serviceName: 'plain', value: stored }));
  keep(await webhook.storage({ op: 'audit.append', events: [{ id: 'e', detail: { password: stored } }] }));
  keep(await webhook.storage({ op: stored }));
  keep(await webhook.storage({ op: 'tokens.list' }));
  keep(await webhook.storage({ op: 'audit.list' }));

  const keys = ['svagent', 'svsess', 'mcp', 'svadmin'].map((prefix) => `${prefix}_${randomToken(32)}`);
  const ticket = webhook.credentialTicket('plain');
  const headers = {
    'x-agent-key': keys[0] ?? '',
    'x-mcp-key': keys[2] ?? '',
    authorization: `Bearer ${keys[1]}`,
  };
  expect((await webhook.send(`/v1/credential?ticket=${ticket}`, { headers })).json.token.accessToken).toBe(
    value,
  );
  keep(await webhook.send(`/v1/credential?ticket=${ticket}&key=${keys[3]}`, { headers }));
  keep(await webhook.send(`/v1/credential/${ticket}/${keys[0]}`));
  keep(await webhook.send('/v1/credential', { headers }));
  keep(await webhook.send('/v1/store', { method: 'POST', headers, body: misplaced }));
  for (const name of ['jwt', 'tls', 'ssh', 'former'])
    expect((await webhook.credential(name)).status).toBe(200);

  const backup = tempDir();
  onTestFinished(() => backup.remove());
  expect(await command(webhook, 'backup', join(backup.path, 'b'))).toMatchObject({ code: 0 });
  const metrics = await (await fetch(`${webhook.metricsUrl}/metrics`)).text();
  const filesOf = (dir: string): Buffer[] => readdirSync(dir).map((name) => readFileSync(join(dir, name)));
  const files = [...filesOf(webhook.dataDir), ...filesOf(backup.path)];
  expect(readdirSync(webhook.dataDir)).toContain('webhook.db-wal');
  await webhook.stop();
  const atRest = Buffer.concat([...files, ...filesOf(webhook.dataDir)]);
  const told = Buffer.from([log.text, metrics, ...answers].join('\n'));
  expect(log.text).toContain('"level":"debug"');

  const pemBody = pem.split('\n')[1] ?? '';
  const own = [webhook.env['SV_WEBHOOK_MASTER_KEY'] ?? '', webhook.env['SV_WEBHOOK_SETUP_TOKEN'] ?? ''];
  const { secret: hmac } = webhook.key;
  for (const text of [
    ...[value, access, refresh, client, chain, replaced, misplaced, stored, deleted],
    pemBody,
    toBase64url(hmac),
    Buffer.from(hmac).toString('hex'),
    ...own,
    ...keys,
    ticket,
  ])
    expect([text, tracesOf(text, atRest), tracesOf(text, told)]).toEqual([text, [], []]);
  for (const bytes of [Buffer.from(hmac), Buffer.from(own[0] ?? '', 'base64url')])
    expect([atRest.includes(bytes), told.includes(bytes)]).toEqual([false, false]);
});
