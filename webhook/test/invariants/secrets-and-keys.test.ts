/** Promises 5 to 8 and 11 of the list in tickets-and-binding.test.ts. */
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import { createLogger, silentLogger } from '@svault/server-kit/logger';
import { ManualClock, fromBase64url, randomToken, systemClock, toBase64url } from '@svault/shared';
import { LogSink } from '@svault/test-kit/log-sink';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { tempDir } from '@svault/test-kit/temp-dir';
import { webhookConfig } from '../../src/config/config.ts';
import { openContext } from '../../src/context.ts';
import { startWebhook } from '../../src/serve.ts';
import { rotateMasterKey } from '../../src/vault/master-key-rotation.ts';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { command, runWebhook } from '../support/run-webhook.ts';
import { lossesOf, newWriters, storeUntilKilled } from '../support/store-until-killed.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function bound(options: Parameters<typeof boundWebhook>[0] = {}): Promise<BoundWebhook> {
  const webhook = await boundWebhook(options);
  cleanUps.push(() => webhook.remove());
  return webhook;
}
/** For tests with processes of their own, which run by the machine's clock. */
const boundNow = (): Promise<BoundWebhook> => bound({ clock: new ManualClock(Date.now()) });

const plain = (value: string) => ({ tokenType: 'PlainText', value });
const newMasterKey = (): string => toBase64url(randomBytes(32));

/** Size and hash of every file of a folder but SQLite's shared memory, which holds no data and is made anew. */
function everyByte(dir: string): Record<string, string> {
  const digest = (name: string): string =>
    createHash('sha256')
      .update(readFileSync(join(dir, name)))
      .digest('hex');
  const names = readdirSync(dir).filter((name) => !name.endsWith('-shm'));
  return Object.fromEntries(names.map((name) => [name, digest(name)]));
}

test('5. no secret is in a log, a file, a backup, a metric or an answer that is not its delivery', async () => {
  const log = new LogSink();
  const logger = createLogger({ name: 'webhook', level: 'trace', format: 'json', destination: log });
  const webhook = await bound({ logger, env: { SV_METRICS_LISTEN: '127.0.0.1:0' } });
  const secret = (): string => `canary/+ é"${randomToken()}\\`;
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const made = Array.from({ length: 9 }, secret) as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const [value, access, refresh, client, chain, replaced, misplaced, stored, deleted] = made;
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
  cleanUps.push(() => backup.remove());
  expect(await command(webhook.env, 'backup', join(backup.path, 'b'))).toMatchObject({ code: 0 });
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
    ...made,
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

test('6. a wrong, missing, cut or half-rotated master key starts nothing and changes no byte (R20)', async () => {
  const webhook = await boundNow();
  for (const name of ['a', 'b']) await webhook.store(name, plain(`value of ${name}`));
  await webhook.stop();
  const { SV_WEBHOOK_MASTER_KEY: key = '', ...without } = webhook.env;
  const refuses = async (env: NodeJS.ProcessEnv): Promise<void> => {
    const before = everyByte(webhook.dataDir);
    const starting = async () =>
      startWebhook(webhookConfig({ ...without, ...env }), { logger: silentLogger });
    await expect(starting()).rejects.toThrow(/key/i);
    expect(everyByte(webhook.dataDir)).toEqual(before);
  };
  const before = everyByte(webhook.dataDir);
  const wrong = { ...without, SV_WEBHOOK_MASTER_KEY: newMasterKey() };
  for (const refused of await Promise.all([command(wrong), command(wrong, 'unseal-bind')]))
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/does not open this vault/),
    });
  expect(everyByte(webhook.dataDir)).toEqual(before);
  const flipped = Buffer.from(key, 'base64url').map((byte, at) => (at === 31 ? byte ^ 1 : byte));
  await refuses({ SV_WEBHOOK_MASTER_KEY: toBase64url(flipped) });
  await refuses({});
  await refuses({ SV_WEBHOOK_MASTER_KEY: key.slice(0, 42) });

  const next = newMasterKey();
  const context = await openContext(webhookConfig(webhook.env), { clock: systemClock, logger: silentLogger });
  const { masterKeys: store, keyring, rewrappables, audit, db } = context;
  const halfWay = rotateMasterKey(
    {
      store,
      keyring,
      rewrappables,
      audit,
      transact: (work) => db.transaction(work).immediate(),
      pause: () => Promise.reject(new Error('killed')),
    },
    fromBase64url(next)!,
  );
  await expect(halfWay).rejects.toThrow('killed');
  context.close();
  await refuses({ SV_WEBHOOK_MASTER_KEY: key });
  await refuses({ SV_WEBHOOK_MASTER_KEY: next });
  const both = { ...webhook.env, SV_WEBHOOK_MASTER_KEY_NEXT: next };
  expect(await command(both, 'rotate-master-key')).toMatchObject({ code: 0 });
  await webhook.restart({ SV_WEBHOOK_MASTER_KEY: next });
  for (const name of ['a', 'b'])
    expect((await webhook.credential(name)).json.token.accessToken).toBe(`value of ${name}`);
});

test('7. one process serves a data folder; other subcommands work beside it (R22)', async () => {
  const webhook = await boundNow();
  await webhook.store('doc', plain('first'));
  await webhook.store('doc', plain('second'));
  const dir = tempDir();
  cleanUps.push(() => dir.remove());
  const env = { ...webhook.env, SV_WEBHOOK_MASTER_KEY_NEXT: newMasterKey() };
  const [second, restored, backedUp, verified] = await Promise.all([
    runWebhook(env, 'serve'),
    runWebhook(env, 'restore', 'doc'),
    runWebhook(env, 'backup', join(dir.path, 'backup')),
    runWebhook(env, 'audit', 'verify'),
  ]);
  expect(second).toMatchObject({ code: 1, stdout: '' });
  expect(second.stderr).toMatch(/another process already serves/);
  expect([restored.code, backedUp.code, verified.code]).toEqual([0, 0, 0]);
  expect((await webhook.credential('doc')).json.token.accessToken).toBe('first');
  expect((await runWebhook(env, 'rotate-master-key')).code).toBe(0);
  expect((await webhook.credential('doc')).json.token.accessToken).toBe('first');
});

// 200 kills: store-kill.hard.test.ts.
test('8. a process killed in the middle of stores loses nothing that was answered 200 (R2)', async () => {
  const webhook = await boundNow();
  const writers = newWriters(4);
  for (const afterAnswers of [1, 9, 33]) {
    await webhook.stop();
    await storeUntilKilled(webhook, writers, { afterAnswers });
    await webhook.restart();
    expect(await lossesOf(webhook, writers)).toEqual([]);
  }
  expect(writers.flatMap(({ answered }) => answered).length).toBeGreaterThanOrEqual(1 + 9 + 33);
  expect(await command(webhook.env, 'audit', 'verify')).toMatchObject({ code: 0 });
});

test('11. settings that are sealed with a record are enforced against a writer of the database file', async () => {
  const webhook = await bound();
  await webhook.store('mine', {
    ...plain('the sealed value'),
    delivery: 'proxy-only',
    allowedHosts: ['a.test'],
  });
  await webhook.store('open', plain('the open value'));
  const tampered = async (sql: string): Promise<void> => {
    const db = new Database(join(webhook.dataDir, 'webhook.db'));
    const saved = db.prepare('SELECT * FROM records').all() as Record<string, unknown>[];
    db.exec(sql);
    for (const name of ['mine', 'open']) {
      const { status, text } = await webhook.credential(name);
      expect([sql, status, text.includes('the sealed value')]).toEqual([sql, expect.any(Number), false]);
      if (name === 'open' && status === 200) expect(text).toContain('the open value');
    }
    const put = db.prepare(
      'UPDATE records SET service_name = ?, version = ?, settings = ?, data_key = ?, body = ? WHERE row = ?',
    );
    db.exec(`UPDATE records SET service_name = 'tmp ' || row`);
    for (const row of saved)
      put.run(row['service_name'], row['version'], row['settings'], row['data_key'], row['body'], row['row']);
    db.close();
  };
  const swap = (columns: readonly string[]): string =>
    `UPDATE records SET (${columns.join(', ')}) = (SELECT ${columns.join(', ')} FROM records WHERE service_name = 'mine') WHERE service_name = 'open'`;
  await tampered(`UPDATE records SET settings = replace(settings, 'proxy-only', 'any')`);
  await tampered(`UPDATE records SET settings = (SELECT settings FROM records WHERE service_name = 'open')`);
  await tampered(swap(['body']));
  await tampered(swap(['data_key', 'body']));
  await tampered(
    `UPDATE records SET service_name = 'x' WHERE service_name = 'open';
     UPDATE records SET service_name = 'open', settings = (SELECT settings FROM records WHERE service_name = 'x') WHERE service_name = 'mine'`,
  );
  expect((await webhook.credential('open')).json.token.accessToken).toBe('the open value');
  expect((await webhook.credential('mine')).json.code).toBe('DELIVERY_NOT_ALLOWED');
});
