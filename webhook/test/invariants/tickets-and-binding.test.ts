/**
 * The promises of this webhook, one test each in this folder:
 *
 *  1. A ticket is used once, over restarts too.
 *  2. Of any number of concurrent uses one succeeds.
 *  3. All refusals of signatures and tickets are the same bytes, headers included.
 *  4. A binding code expires and works once.
 *  5. No secret is in a log, a file, a backup, a metric or an answer, except its delivery.
 *  6. A wrong, missing, cut or half-rotated master key starts nothing and changes no byte.
 *  7. One process serves a data folder; other subcommands work beside it.
 *  8. A process killed in the middle of stores loses nothing that was answered 200.
 *  9. An unbound webhook answers every signed request and every ticket with 401.
 * 10. unseal-bind revokes all keys at once.
 * 11. Settings that are sealed with a record are enforced against a writer of the database file.
 * 12. Restoring a backup makes no earlier ticket or request valid again.
 * 13. A proxy injects a credential only for the hosts and headers that it was stored for; no answer header returns it.
 * 14. A proxied request is made once, over restarts too, and its use is logged on the disk before the call.
 * 15. A refresh token is sent once for all concurrent uses; one whose answer was lost is reported, and never tried blindly.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import {
  type HmacKey,
  ManualClock,
  authorityOf,
  fromBase64url,
  issueTicket,
  randomToken,
  signRequest,
} from '@svault/shared';
import { tempDir } from '@svault/test-kit/temp-dir';
import { rawRequest, withoutDate } from '@svault/test-kit/raw-http';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { postForm, startFixture } from '../support/webhook-fixture.ts';
import { command, serveProcess } from '../support/run-webhook.ts';
import { raceTickets } from '../support/ticket-race.ts';

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

test('1. a ticket is used once, over restarts too', async () => {
  const webhook = await bound();
  await webhook.store('github', plain('v'));
  const [used, unused, usedStore] = [
    webhook.credentialTicket('github'),
    webhook.credentialTicket('github'),
    webhook.storeTicket('github'),
  ];
  const use = async (ticket: string) => (await webhook.send(`/v1/credential?ticket=${ticket}`)).status;
  const store = async (ticket: string) =>
    webhook.send('/v1/store', {
      method: 'POST',
      headers: { authorization: `Bearer ${ticket}`, 'content-type': 'application/json' },
      body: JSON.stringify(plain('newer')),
    });
  expect([await use(used), (await store(usedStore)).status]).toEqual([200, 200]);
  for (let restarts = 0; restarts < 3; restarts += 1) {
    await webhook.restart();
    expect([await use(used), (await store(usedStore)).status]).toEqual([401, 401]);
  }
  expect(await use(unused)).toBe(200);
});

// 3,000 tickets, over kills: ticket-race.hard.test.ts.
test('2. of 20 concurrent uses one succeeds, for 100 tickets, and none after a restart (R4)', async () => {
  const webhook = await bound();
  await webhook.store('github', plain('v'));
  const fresh = (count: number): string[] =>
    Array.from({ length: count }, () => webhook.credentialTicket('github'));
  const tickets = fresh(100);
  const wins = await raceTickets(webhook.url, tickets, { uses: 20, inFlight: 64 });
  expect(wins.filter((count) => count !== 1)).toEqual([]);
  await webhook.restart();
  const again = await raceTickets(webhook.url, tickets, { uses: 1, inFlight: 64 });
  expect(again.filter((count) => count !== 0)).toEqual([]);
  const later = await raceTickets(webhook.url, fresh(20), { uses: 20, inFlight: 64 });
  expect(later.filter((count) => count !== 1)).toEqual([]);
  const log = new Database(join(webhook.dataDir, 'webhook.db'), { readonly: true });
  const delivered = log.prepare(`SELECT count(*) FROM audit_log WHERE event_type = 'CREDENTIAL_DELIVERED'`);
  expect(delivered.pluck().get()).toBe(120);
  log.close();
});

test('3. all refusals of signatures and tickets are the same bytes, headers included', async () => {
  const webhook = await bound();
  const authority = authorityOf(webhook.env['SV_WEBHOOK_URL'] ?? '');
  const nowMs = webhook.clock.now();
  const stranger: HmacKey = { id: webhook.key.id, secret: randomBytes(32) };
  const body = Buffer.from('{"op":"tokens.list"}');
  const raw = (method: string, target: string, headers: object, content = ''): Promise<string> => {
    const lines = Object.entries({ host: authority, ...headers }).map(([name, value]) => `${name}: ${value}`);
    const length = content === '' ? [] : [`content-length: ${Buffer.byteLength(content)}`];
    const head = [`${method} ${target} HTTP/1.1`, ...lines, ...length].join('\r\n');
    return rawRequest(webhook.url, [`${head}\r\n\r\n${content}`]).then(withoutDate);
  };
  const signed = (path: string, changes: Partial<Parameters<typeof signRequest>[0]> = {}) =>
    signRequest({ method: 'POST', authority, path, body, key: webhook.key, nowMs, ...changes });
  const used = signed('/v1/storage');
  await raw('POST', '/v1/storage', used, body.toString());

  const signatures = await Promise.all([
    ...['/v1/storage', '/v1/health', '/v1/exchange'].flatMap((path) => [
      raw('POST', path, {}),
      raw('POST', path, { 'content-type': 'application/json' }, body.toString()),
      raw('POST', path, signed(path, { key: stranger }), body.toString()),
      raw('POST', path, signed(path, { key: { ...webhook.key, id: 'unknown' } }), body.toString()),
      raw('POST', path, signed(path, { nowMs: nowMs - 3_600_000 }), body.toString()),
      raw('POST', path, signed(path, { nowMs: nowMs + 3_600_000 }), body.toString()),
      raw('POST', path, signed('/v1/elsewhere'), body.toString()),
      raw('POST', path, signed(path, { method: 'PUT' }), body.toString()),
      raw('POST', path, signed(path), '{"op":"tokens.lisT"}'),
      raw('POST', `${path}?x=1`, signed(path), body.toString()),
      raw('POST', path, { ...signed(path), signature: 'sv=:AAAA:' }, body.toString()),
    ]),
    raw('POST', '/v1/storage', used, body.toString()),
  ]);
  expect(new Set(signatures).size).toBe(1);
  expect(signatures[0]).toMatch(/^HTTP\/1\.1 401 [^]*"code":"SIGNATURE_INVALID"/);

  const ticket = (changes: object, key = webhook.key): string => {
    const payload = JSON.parse(
      Buffer.from(webhook.credentialTicket('github').split('.')[1] ?? '', 'base64url').toString(),
    );
    return issueTicket({ ...payload, ...changes }, key);
  };
  const seconds = Math.floor(nowMs / 1000);
  const good = ticket({});
  await raw('GET', `/v1/credential?ticket=${good}`, {});
  const refused = [
    '',
    'no.ticket.at-all',
    good,
    `${good}&ticket=${good}`,
    good.slice(0, -4),
    ticket({}, stranger),
    ticket({}, { ...webhook.key, id: 'unknown' }),
    ticket({ op: 'store' }),
    ticket({ aud: 'whk_another' }),
    ticket({ iss: 'https://another.test' }),
    ticket({ svc: 'a/b' }),
    ticket({ sub: 'nobody' }),
    ticket({ iat: seconds - 3_600, exp: seconds - 3_540 }),
    ticket({ iat: seconds + 3_600, exp: seconds + 3_660 }),
    ticket({ exp: seconds + 600 }),
  ];
  const tickets = await Promise.all([
    raw('GET', '/v1/credential', {}),
    ...refused.map((text) => raw('GET', `/v1/credential?ticket=${text}`, {})),
    ...refused.map((text) => raw('GET', '/v1/credential', { authorization: `Bearer ${text}` })),
    raw('POST', '/v1/store', { authorization: `Bearer ${good}` }, '{}'),
    raw('POST', '/v1/store', {}, '{}'),
  ]);
  expect(new Set(tickets).size).toBe(1);
  expect(tickets[0]).toMatch(/^HTTP\/1\.1 401 [^]*"code":"TICKET_INVALID"/);
});

test('4. a binding code expires and works once', async () => {
  const fixture = await startFixture();
  cleanUps.push(() => fixture.stop());
  const late = await fixture.connect();
  fixture.clock.advance(5 * 60_000);
  expect((await fixture.exchange(late.code)).json.code).toBe('CODE_EXPIRED');
  await fixture.restart();
  fixture.clock.jump(-5 * 60_000);
  expect((await fixture.exchange(late.code)).json.code).toBe('CODE_EXPIRED');

  const former = await fixture.connect();
  const { code } = await fixture.connect();
  expect((await fixture.exchange(former.code)).json.code).toBe('SIGNATURE_INVALID');
  const answers = await Promise.all(Array.from({ length: 20 }, () => fixture.exchange(code)));
  const codes = answers.map(({ json }) => json.code ?? 'bound');
  expect(codes.filter((one) => one === 'bound')).toHaveLength(1);
  expect(codes.filter((one) => one === 'CODE_USED' || one === 'SIGNATURE_INVALID')).toHaveLength(19);
  await fixture.restart();
  expect((await fixture.exchange(code)).json.code).toBe('CODE_USED');
});

test('9. an unbound webhook answers every signed request and every ticket with 401', async () => {
  const fixture = await startFixture();
  cleanUps.push(() => fixture.stop());
  const key = { id: 'anything', secret: randomBytes(32) };
  for (const path of ['/v1/health', '/v1/storage', '/v1/exchange'])
    expect([path, (await fixture.sendSigned({ path, key })).json.code]).toEqual([path, 'SIGNATURE_INVALID']);
  const seconds = Math.floor(fixture.clock.now() / 1000);
  const ticket = issueTicket(
    {
      iss: 'https://vault.example/base',
      aud: 'whk_x',
      sub: 'usr_x',
      op: 'credential',
      svc: 'github',
      jti: randomToken(),
      iat: seconds,
      exp: seconds + 60,
      rfp: 'none',
    },
    key,
  );
  const headers = { authorization: `Bearer ${ticket}` };
  for (const [method, path] of [
    ['GET', '/v1/credential'],
    ['POST', '/v1/store'],
  ] as const) {
    const answer = await fixture.send({ method, path, headers });
    expect([path, answer.status, answer.json.code]).toEqual([path, 401, 'TICKET_INVALID']);
  }
  expect(fixture.query('SELECT * FROM claims')).toEqual([]);
});

test('10. unseal-bind revokes all keys at once', async () => {
  const fixture = await startFixture({ clock: new ManualClock(Date.now()) });
  cleanUps.push(() => fixture.stop());
  const { key: former } = await fixture.bind();
  const rotate = async (key: HmacKey): Promise<HmacKey> => {
    const { json } = await fixture.sendSigned({ path: '/v1/exchange', body: { op: 'rotate' }, key });
    return { id: json.keyId, secret: fromBase64url(json.hmacSecret)! };
  };
  const current = await rotate(former);
  expect((await fixture.sendSigned({ key: current })).status).toBe(200);
  expect((await fixture.sendSigned({ key: former })).status).toBe(200);
  const pending = await rotate(current);
  const made = [former, current, pending].map((key) => fixture.sign({ key }));
  expect((await command(fixture.env, 'unseal-bind')).code).toBe(0);
  for (const headers of made)
    expect((await fixture.send({ method: 'POST', path: '/v1/health', headers })).status).toBe(401);
  for (const key of [former, current, pending]) expect((await fixture.sendSigned({ key })).status).toBe(401);
  for (const table of ['binding', 'binding_keys', 'binding_code'])
    expect(fixture.query(`SELECT * FROM ${table}`)).toEqual([]);
  expect(
    (await postForm(fixture.send, { setup_token: fixture.env['SV_WEBHOOK_SETUP_TOKEN'] ?? '' })).status,
  ).toBe(200);
});

test('12. restoring a backup makes no earlier ticket or request valid again (R19)', async () => {
  const webhook = await boundNow();
  await webhook.store('doc', plain('v'));
  const dir = tempDir();
  cleanUps.push(() => dir.remove());
  const [file, folder] = [join(dir.path, 'backup'), join(dir.path, 'new')];
  expect((await command(webhook.env, 'backup', file)).code).toBe(0);
  const ticket = webhook.credentialTicket('doc');
  const use = () => webhook.send(`/v1/credential?ticket=${ticket}`);
  expect((await use()).status).toBe(200);
  await webhook.stop();
  const env = { ...webhook.env, SV_WEBHOOK_DATA_DIR: folder };
  expect((await command(env, 'restore-backup', file)).code).toBe(0);
  const serving = await serveProcess(env);
  cleanUps.push(() => serving.end('SIGKILL'));
  const again = await fetch(`${serving.url}/v1/credential?ticket=${ticket}`);
  expect(again.status).toBe(401);
  const unused = await fetch(`${serving.url}/v1/credential?ticket=${webhook.credentialTicket('doc')}`);
  expect(unused.status).toBe(401);
});
