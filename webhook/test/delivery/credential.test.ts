/** `GET /v1/credential` beyond the conformance suite. */
import { generateKeyPairSync } from 'node:crypto';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { formatTime } from '@svault/shared';
import { webhookOfTest } from '../support/bound-webhook.ts';

// spec: token.accessToken | string
// spec: token.refreshToken | string
// spec: token.serviceName | string
// spec: token.tokenType | string
// spec: token.createdAt | ISO 8601 timestamp
// spec: The exact fields depend on the token type.
it('a credential is delivered with the members of its type', async () => {
  const webhook = await webhookOfTest();
  const ed25519 = generateKeyPairSync('ed25519').privateKey;
  const privateKey = ed25519.export({ type: 'pkcs8', format: 'pem' });
  const pair = { accessToken: 'at', refreshToken: 'rt' };
  const ssh = { publicKey: /^ssh-ed25519 AAAA/, fingerprint: /^SHA256:[A-Za-z0-9+/]{43}$/ };
  for (const [body, members] of [
    [{ tokenType: 'JWT', ...pair }, pair],
    [
      { tokenType: 'SSHKey', privateKey },
      {
        accessToken: privateKey,
        publicKey: expect.stringMatching(ssh.publicKey),
        fingerprint: expect.stringMatching(ssh.fingerprint),
      },
    ],
  ] as const) {
    const { tokenType } = body;
    await webhook.store(tokenType, body);
    const { token } = (await webhook.credential(tokenType)).json;
    const createdAt = formatTime(webhook.clock.now());
    expect(token).toEqual({ serviceName: tokenType, tokenType, createdAt, ...members });
  }
});

it('keys that are sent with a ticket are ignored, and counted', async () => {
  const webhook = await webhookOfTest({ env: { SV_METRICS_LISTEN: '127.0.0.1:0' } });
  await webhook.store('stray', { tokenType: 'PlainText', value: 'v' });
  const headers = { authorization: 'Bearer svagent_x', 'x-agent-key': 'svagent_x', 'x-mcp-key': 'mcp_x' };
  const path = `/v1/credential?ticket=${webhook.credentialTicket('stray')}`;
  const { status, headers: given } = await webhook.send(path, { headers });
  expect([status, given.get('referrer-policy')]).toEqual([200, 'no-referrer']);
  const metrics = await (await fetch(`${webhook.metricsUrl}/metrics`)).text();
  for (const header of Object.keys(headers))
    expect(metrics).toMatch(new RegExp(`stray_credentials_total\\{header="${header}"[^}]*\\} 1`));
});

it('a record that was changed on the disk is not delivered, and the ticket is consumed', async () => {
  const webhook = await webhookOfTest();
  const body = { tokenType: 'PlainText', value: 'never delivered 0189', delivery: 'proxy-only' };
  await webhook.store('tampered', { ...body, allowedHosts: ['a.test'] });
  const db = new Database(`${webhook.dataDir}/webhook.db`);
  db.exec(`UPDATE records SET settings = replace(settings, '"proxy-only"', '"any"')`);
  db.close();
  const path = `/v1/credential?ticket=${webhook.credentialTicket('tampered')}`;
  expect(await webhook.send(path)).toMatchObject({ status: 500, json: { code: 'INTERNAL' } });
  expect((await webhook.send(path)).json.code).toBe('TICKET_INVALID');
  const { json } = await webhook.storage({ op: 'audit.list', serviceName: 'tampered', limit: 1 });
  expect(json.items[0]).toMatchObject({ eventType: 'CREDENTIAL_DELIVERED', outcome: 'error' });
});

it('of requests that are decided in one commit each has its own answer and one entry, whatever becomes of the others', async () => {
  const webhook = await webhookOfTest();
  for (const name of ['good', 'changed']) await webhook.store(name, { tokenType: 'PlainText', value: 'v' });
  const db = new Database(`${webhook.dataDir}/webhook.db`);
  db.exec(`UPDATE records SET settings = replace(settings, '"any"', '"ALL"') WHERE service_name = 'changed'`);
  db.close();
  const names = Array.from({ length: 60 }, (_, at) => ['good', 'changed', 'absent'][at % 3]!);
  const paths = names.map((name) => `/v1/credential?ticket=${webhook.credentialTicket(name)}`);
  const answers = await Promise.all([...paths, ...paths].map((path) => webhook.send(path)));

  const expected = { good: 200, changed: 500, absent: 404 } as Record<string, number>;
  for (const [at, name] of names.entries()) {
    const both = [answers[at]!, answers[at + names.length]!].map(({ status }) => status);
    expect(new Set(both)).toEqual(new Set([expected[name], 401]));
  }
  for (const name of ['good', 'changed', 'absent']) {
    const { json } = await webhook.storage({ op: 'audit.list', serviceName: name, limit: 100 });
    const uses = json.items.filter(
      ({ eventType }: { eventType: string }) => eventType === 'CREDENTIAL_DELIVERED',
    );
    expect(uses).toHaveLength(20);
  }
});
