/**
 * What this webhook promises, one test each:
 *
 *  1. A ticket is used once, over restarts too.
 *  2. Of any number of uses at the same time one succeeds.
 *  3. All refusals of signatures and tickets are the same bytes, headers included.
 *  4. A binding code expires and works once.
 *  5. No secret is in a log, a file, a backup, a metric or an answer that is not its delivery.
 *  6. A wrong, missing, cut or half-rotated master key starts nothing and changes no byte.
 *  7. One process serves a data folder; other subcommands work beside it.
 *  8. A process killed in the middle of stores loses nothing that was answered 200.
 *  9. While it is not bound every signed request and every ticket is a 401.
 * 10. After unseal-bind all keys are dead at once.
 * 11. What is sealed with a record holds against whoever can write the database file, too.
 * 12. A backup that is restored revives no ticket and no request from before.
 * 13. A proxy puts a credential in only for the hosts and headers that it was stored for; no header brings it back.
 * 14. A proxied request is made once, over restarts too, and its use is on the disk before the upstream hears of it.
 * 15. A refresh token is shown once, however many ask; one that was lost on its way is shown as that, and never tried blindly.
 */
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import { createLogger, silentLogger } from '@svault/server-kit/logger';
import {
  type HmacKey,
  ManualClock,
  authorityOf,
  fromBase64url,
  issueTicket,
  randomToken,
  signRequest,
  systemClock,
  toBase64url,
} from '@svault/shared';
import { LogSink } from '@svault/test-kit/log-sink';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { tempDir } from '@svault/test-kit/temp-dir';
import { rawRequest, withoutDate } from '@svault/test-kit/raw-http';
import { webhookConfig } from '../src/config/config.ts';
import { openContext } from '../src/context.ts';
import { startWebhook } from '../src/serve.ts';
import { rotateMasterKey } from '../src/vault/master-key-rotation.ts';
import { type BoundWebhook, boundWebhook } from './support/bound-webhook.ts';
import { postForm, startFixture } from './support/webhook-fixture.ts';
import { type ProxyCall, callProxy, proxyTicket, putProxy } from './support/proxy-calls.ts';
import { refreshBench } from './support/refresh-bench.ts';
import { command, runWebhook, serveProcess } from './support/run-webhook.ts';
import { lossesOf, newWriters, storeUntilKilled } from './support/store-until-killed.ts';
import { raceTickets } from './support/ticket-race.ts';
import { type Upstream, startUpstream } from './support/upstream.ts';

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
test('2. of 20 uses at the same time one succeeds, for 100 tickets, and none after a restart (R4)', async () => {
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

test('9. while it is not bound every signed request and every ticket is a 401', async () => {
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

test('10. after unseal-bind all keys are dead at once', async () => {
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

test('11. what is sealed with a record holds against whoever can write the database file, too', async () => {
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

test('12. a backup that is restored revives no ticket and no request from before (R19)', async () => {
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

async function proxied(answer: Parameters<typeof startUpstream>[0]): Promise<[BoundWebhook, Upstream]> {
  const upstream = await startUpstream(answer);
  cleanUps.push(() => upstream.close());
  const webhook = await bound({ env: { SV_EGRESS_ALLOW: '127.0.0.1/32' } });
  await putProxy(webhook, upstream.url);
  return [webhook, upstream];
}

test('13. a proxy puts a credential in only where it was stored for; no header brings it back (R11, R18)', async () => {
  const [webhook, upstream] = await proxied((req, res) => {
    const { authorization = '' } = req.headers;
    const inBase64 = Buffer.from(authorization).toString('base64');
    res.writeHead(200, { 'x-a': authorization, 'x-b': encodeURIComponent(authorization), 'x-c': inBase64 });
    res.end();
  });
  const value = `canary+/${randomToken()}`;
  const used = async (more: object): Promise<number> => {
    expect((await webhook.store('api', { ...plain(value), ...more })).status).toBe(200);
    const { status, rawHeaders, body } = await callProxy(webhook);
    expect(tracesOf(value, Buffer.concat([Buffer.from(rawHeaders.join('\n')), body]))).toEqual([]);
    return status;
  };
  const allowedHosts = [upstream.url];
  for (const [more, status] of [
    [{}, 403],
    [{ allowedHosts: ['http://127.0.0.1'] }, 403],
    [{ allowedHosts: [upstream.host] }, 403],
    [{ allowedHosts, allowedHeaders: ['x-api-key'] }, 403],
    [{ allowedHosts, value: `${value}\r\nx-more: 1` }, 422],
  ] as const)
    expect([more, await used(more)]).toEqual([more, status]);
  expect(upstream.connections()).toBe(0);
  expect(await used({ allowedHosts })).toBe(200);
  expect(upstream.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${value}`]);
});

test('14. a proxied request is made once, over restarts too, and written down before it is (R4)', async () => {
  let entries = 0;
  const [webhook, upstream] = await proxied((_req, res) => {
    const log = new Database(join(webhook.dataDir, 'webhook.db'), { readonly: true });
    const uses = log.prepare(`SELECT count(*) FROM audit_log WHERE event_type = 'CREDENTIAL_INJECTED'`);
    entries = uses.pluck().get() as number;
    log.close();
    res.end();
  });
  await webhook.store('api', { ...plain('tkn_used_once_0189'), allowedHosts: [upstream.url] });
  const call: ProxyCall = { nonce: randomToken(), ticket: proxyTicket(webhook) };
  const outcomes = async (): Promise<readonly number[]> => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => callProxy(webhook, call)));
    return answers.map(({ status }) => status).filter((status) => status !== 401);
  };
  expect([await outcomes(), entries]).toEqual([[200], 1]);
  await webhook.restart();
  expect([await outcomes(), upstream.requests.length]).toEqual([[], 1]);
});

test('15. a refresh token is shown once, however many ask, and a lost one is never tried blindly (R2)', async () => {
  const bench = await refreshBench();
  cleanUps.push(() => bench.close());
  const { provider, webhook } = bench;
  await bench.store('wanted');
  const given = await Promise.all(Array.from({ length: 20 }, () => bench.fetch('wanted')));
  expect([new Set(given).size, provider.calls.length]).toEqual([1, 1]);
  await bench.store('lost');
  provider.misbehave('break_after');
  expect(await bench.fetch('lost')).toBe('PROVIDER_ERROR');
  provider.misbehave(undefined);
  await webhook.restart();
  for (let again = 0; again < 5; again += 1) expect(await bench.fetch('lost')).toBe('REAUTH_NEEDED');
  expect((await bench.metadata('lost')).reauthNeeded).toBe(true);
  expect(provider.calls.map(({ outcome }) => outcome)).toEqual(['refreshed', 'refreshed', 'invalid_grant']);
});
