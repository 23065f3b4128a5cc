/**
 * The table of PROTOCOL.md section 1: a compromised control plane has a valid key and signs anything, and must not get
 * a plaintext credential that it may not have.
 */
import { createHmac, generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type JWK, calculateJwkThumbprint, compactDecrypt, exportJWK, importJWK } from 'jose';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ManualClock, newId, randomToken, toBase64, utf8 } from '@svault/shared';
import { type BoundWebhook, OWNER, boundWebhook } from './support/bound-webhook.ts';
import { CREDENTIAL, ask, decide, enrol, passkeyFor, post } from './support/approvals.ts';
import { attackByProxy } from './support/proxy-attack.ts';
import { PROXY, callProxy, putProxy } from './support/proxy-calls.ts';
import { attackByMediation, attackByTokenUrl } from './support/refresh-attack.ts';
import { command } from './support/run-webhook.ts';
import { startUpstream } from './support/upstream.ts';
import { observeAnswers, proxyTo } from './support/compromised-control-plane.ts';

/** The first column of the table in shared/PROTOCOL.md. */
const ROWS = [
  'read a record through `/v1/storage`',
  'send `${TOKEN}` to its own host, or in a header that routes',
  'ask something else of an allowed host than its owner meant',
  'have an allowed host called by plain `http`, to read along',
  'guess a one-time code, a PIN or a password through a proxy',
  'use a record without the approval that its owner wants',
  'fetch a `proxy-only` record with a ticket it signed itself',
  'read a `sealed` record from `/v1/credential`',
  'take a refresh token by a ticket that says `rfp: none`',
  'make a refresh go to its own token URL',
  'see tokens during a mediated refresh',
  'hide what it did',
] as const;
type Row = (typeof ROWS)[number];

const SECRET = 'the-canary-that-must-not-leave/+é';
/** ASCII, so that a header could carry it. */
const SENDABLE = 'the-canary-that-could-be-sent/+';
const PROVIDER = { tokenUrl: 'https://provider.test/token', clientId: 'client', clientSecret: `${SECRET} c` };

let webhook: BoundWebhook;
const answers = observeAnswers(() => webhook);
beforeEach(async () => {
  answers.clear();
  webhook = await boundWebhook({
    clock: new ManualClock(Date.now()),
    env: { SV_EGRESS_ALLOW: '127.0.0.1/32' },
  });
});
afterEach(() => webhook.remove());

/** Stores as the owner, from a browser or the CLI; the control plane does not see the body. */
async function owned(name: string, body: object): Promise<void> {
  expect(await webhook.store(name, body)).toMatchObject({ status: 200 });
}
/** Subjects that a compromised control plane may write into its tickets. */
const AGENT = newId('agt');
const SUBJECTS = [OWNER, AGENT, newId('prx'), newId('usr')];

const attacks: Record<Row, () => Promise<void>> = {
  'read a record through `/v1/storage`': async () => {
    await owned('plain', { tokenType: 'PlainText', value: SECRET });
    await owned('jwt', {
      tokenType: 'JWT',
      accessToken: SECRET,
      refreshToken: `r ${SECRET}`,
      provider: PROVIDER,
    });
    await owned('tls', { tokenType: 'Certificate', certificate: SECRET, privateKey: SECRET });
    await owned('raw', { tokenType: 'RawCredential', value: SECRET, delivery: 'proxy-only' });
    for (const serviceName of ['plain', 'jwt', 'tls', 'raw']) {
      const { status, json } = await answers.storage({ op: 'tokens.get', serviceName });
      expect([status, json.serviceName]).toEqual([200, serviceName]);
      // Asking for more than there is: unknown members are ignored, secret names refused.
      for (const extra of [{ fields: ['*'] }, { include: 'secrets' }, { reveal: true }, { expand: ['body'] }])
        expect((await answers.storage({ op: 'tokens.get', serviceName, ...extra })).json).toEqual(json);
    }
    await answers.storage({ op: 'tokens.list', limit: 500 });
    await answers.storage({ op: 'tokens.list', expiresBefore: '2100-01-01T00:00:00Z' });
    await answers.storage({ op: 'audit.list' });
    for (const op of [
      'tokens.reveal',
      'tokens.export',
      'tokens.put',
      'records.get',
      'credential.get',
      '__proto__',
    ])
      expect((await answers.storage({ op, serviceName: 'plain' })).json.code).toBe('INVALID_REQUEST');
    expect((await answers.storage({ op: 'proxies.put', ...proxyTo('plain') })).status).toBe(200);
    await answers.storage({ op: 'proxies.list' });
    expect(answers.tracesOf(SECRET)).toEqual([]);
  },

  'send `${TOKEN}` to its own host, or in a header that routes': async () => {
    answers.add(await attackByProxy(webhook, SENDABLE));
    expect(answers.tracesOf(SENDABLE)).toEqual([]);
  },

  'use a record without the approval that its owner wants': async () => {
    const upstream = await startUpstream();
    const serviceName = 'approved';
    const stored = {
      allowedHosts: [upstream.url],
      approval: { by: 'passkey', for: ['credential', 'proxy'] },
    };
    await owned(serviceName, { tokenType: 'PlainText', value: SENDABLE, ...stored });
    const owner = await enrol(webhook);
    const refused = [403, 'APPROVAL_REQUIRED'];
    const isRefused = async (sub: string): Promise<void> => {
      const { status, json } = await answers.credential(serviceName, { sub });
      expect([sub, status, json.code]).toEqual([sub, ...refused]);
    };
    const call = async (path: string, more: object, kind?: 'http') => {
      await putProxy(webhook, upstream.url + path, { serviceName, ...(kind && { kind }) });
      const { status, json } = await callProxy(webhook, { serviceName, ...more });
      return [status, json.code];
    };
    try {
      for (const sub of SUBJECTS) await isRefused(sub);
      const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
      for (const asked of [{ method: 'DELETE' }, { method: 'GET' }, { body: ping }])
        expect(await call('/any/path', asked)).toEqual(refused);
      expect(await call('/v1', { method: 'DELETE', target: '/items/1' }, 'http')).toEqual(refused);

      // It asks, and decides by itself: with a passkey of its own, with none, and by what it writes into the log.
      const { id } = (await ask(webhook, CREDENTIAL, { serviceName, sub: AGENT })).json;
      expect((await decide(webhook, id, passkeyFor(webhook))).status).toBe(401);
      expect((await decide(webhook, id, passkeyFor(webhook), {}, { id: owner.id })).status).toBe(401);
      const link = { code: randomToken(32), name: 'Eve' };
      expect((await post(webhook, '/approvers/new/options', link)).status).toBe(404);
      const decided = { eventType: 'APPROVAL_DECIDED', outcome: 'success', detail: { approval: id } };
      const timestamp = new Date(webhook.clock.now()).toISOString();
      await webhook.storage({ op: 'audit.append', events: [{ id: 'evt_1', timestamp, ...decided }] });
      await isRefused(AGENT);

      // What was approved for a proxy of its making is no more than the bytes that were shown.
      const message = (to: string) => JSON.stringify({ jsonrpc: '2.0', id: to, method: 'pay', amount: 1 });
      await putProxy(webhook, `${upstream.url}/pay`, { serviceName });
      const payment = {
        type: 'proxy',
        proxyId: PROXY,
        method: 'POST',
        body: toBase64(utf8(message('shop'))),
      };
      const fields = [['content-type', 'application/json']];
      const asked = await ask(webhook, { ...payment, fields }, { serviceName, sub: AGENT });
      expect((await decide(webhook, asked.json.id, owner)).status).toBe(200);
      const pay = { serviceName, body: message('eve'), claims: { sub: AGENT } };
      expect((await callProxy(webhook, pay)).json.code).toBe('APPROVAL_REQUIRED');

      // One approval is one use, by whom it was for.
      await decide(webhook, id, owner);
      await isRefused(OWNER);
      expect(upstream.requests).toEqual([]);
      expect(answers.tracesOf(SENDABLE)).toEqual([]);
      expect((await webhook.credential(serviceName, { sub: AGENT })).status).toBe(200);
      await isRefused(AGENT);
    } finally {
      await upstream.close();
    }
  },

  'have an allowed host called by plain `http`, to read along': async () => {
    // In SV_EGRESS_ALLOW, as an internal host is that serves https.
    const host = await startUpstream();
    try {
      await owned('inside', { tokenType: 'PlainText', value: SENDABLE, allowedHosts: [host.host] });
      await putProxy(webhook, host.url, { serviceName: 'inside' });
      const { status, json } = await callProxy(webhook, { serviceName: 'inside' });
      expect([status, json.code, host.connections()]).toEqual([403, 'DESTINATION_NOT_ALLOWED', 0]);
    } finally {
      await host.close();
    }
  },

  'ask something else of an allowed host than its owner meant': async () => {
    const upstream = await startUpstream();
    const requests = [
      { methods: ['GET'], paths: ['/repos/acme/*/issues'] },
      { tools: ['get_*'], paths: ['/mcp'] },
    ];
    await owned('ruled', { tokenType: 'PlainText', value: SENDABLE, allowedHosts: [upstream.url], requests });
    const tool = (name: string) =>
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } });
    const call = { serviceName: 'ruled' };
    const ask = async (path: string, more: object = {}, headerTemplates: Record<string, string> = {}) => {
      const marked = { authorization: 'Bearer ${TOKEN}', ...headerTemplates };
      await putProxy(webhook, upstream.url + path, { ...call, headerTemplates: marked });
      return callProxy(webhook, { ...call, ...more });
    };
    const attempts: Parameters<typeof ask>[] = [
      ['/user', { method: 'GET' }],
      ['/repos/acme/x/issues', { method: 'DELETE' }],
      ['/repos/acme/../other/issues', { method: 'GET' }],
      ['/repos/acme/%2e%2e/issues', { method: 'GET' }],
      ['/repos/acme/x%2F..%2Fy/issues', { method: 'GET' }],
      ['/repos/acme/x/issues?_method=DELETE', { method: 'GET' }],
      ['/repos/acme/x/issues', { method: 'GET' }, { 'X-HTTP-Method-Override': 'DELETE' }],
      ['/repos/acme/x/issues', { method: 'GET' }, { 'X-Original-URL': '/user' }],
      ['/user', { body: tool('get_issue') }],
      ['/mcp', { body: tool('delete_issue') }],
      ['/mcp', { body: tool('get_issue').replace('{', '{"method":"x",') }],
      // Whatever a ticket, a body or a setting of the proxy says about rules.
      ['/user', { method: 'GET', claims: { requests: [{ methods: ['GET'], paths: ['/**'] }] } }],
    ];
    for (const attempt of attempts) expect([attempt, (await ask(...attempt)).status]).toEqual([attempt, 403]);
    const askApi = async (target: string, more: object = {}, query: Record<string, string> = { v: '1' }) => {
      await putProxy(webhook, `${upstream.url}/repos`, { ...call, kind: 'http', queryTemplates: query });
      return callProxy(webhook, { ...call, method: 'GET', target, ...more });
    };
    const targets: Parameters<typeof askApi>[] = [
      [''],
      ['/acme/x'],
      ['/acme/../../user'],
      ['/acme/x%2F..%2F..%2Fuser'],
      ['/acme//issues'],
      ['/acme/x/issues?_method=DELETE'],
      ['/acme/x/issues', {}, { _method: 'DELETE' }],
      ['/acme/x/issues', { method: 'PATCH' }],
      ['/acme/x/issues', { covered: { 'x-http-method-override': 'DELETE' } }],
      ['/acme/x/issues', { covered: { x_original_url: '/user' } }],
    ];
    for (const attempt of targets)
      expect([attempt, (await askApi(...attempt)).status]).toEqual([attempt, 403]);
    expect(upstream.connections()).toBe(0);
    expect((await askApi('/acme/x/issues?page=2')).status).toBe(200);
    expect((await ask('/repos/acme/x/issues', { method: 'GET' })).status).toBe(200);
    expect((await ask('/mcp', { body: tool('get_issue') })).status).toBe(200);
    await upstream.close();
  },

  'guess a one-time code, a PIN or a password through a proxy': async () => {
    const short = { tokenType: 'PlainText', value: '482913', delivery: 'proxy-only' };
    const [host, said] = ['api.test', { allowShortSecret: true }];
    // Whatever it says itself, only the body of a store permits it, and that is the owner's.
    const claims = said as object;
    const refused = await answers.ask(webhook.store('pin', { ...short, allowedHosts: [host] }, claims));
    expect([refused.status, refused.json.code]).toEqual([400, 'INVALID_REQUEST']);
    await owned('pin', { ...short, allowedHosts: [host], ...said });
    expect((await answers.storage({ op: 'tokens.get', serviceName: 'pin' })).text).not.toMatch(
      /short|482913/i,
    );
  },

  'fetch a `proxy-only` record with a ticket it signed itself': async () => {
    await owned('proxied', {
      tokenType: 'PlainText',
      value: SECRET,
      delivery: 'proxy-only',
      allowedHosts: ['api.test'],
    });
    for (const sub of SUBJECTS)
      for (const more of [
        {},
        { cnf: { jkt: 'A'.repeat(43) } },
        { rfp: 'auto' },
        { delivery: 'any' },
      ] as object[]) {
        const refused = await answers.credential('proxied', { sub, ...more });
        expect(refused).toMatchObject({ status: 403, json: { code: 'DELIVERY_NOT_ALLOWED' } });
      }
    expect(answers.tracesOf(SECRET)).toEqual([]);
  },

  'read a `sealed` record from `/v1/credential`': async () => {
    const [recipient, attacker] = [await keyPair(), await keyPair()];
    const body = { tokenType: 'PlainText', value: SECRET, delivery: 'sealed', recipients: [recipient.jwk] };
    await owned('sealed', body);
    const named = { cnf: { jkt: recipient.jkt } };
    for (const sub of SUBJECTS) {
      for (const more of [
        {},
        { cnf: {} },
        { cnf: { jkt: attacker.jkt } },
        { cnf: { jwk: attacker.jwk } },
        { cnf: { jkt: attacker.jkt, jwk: attacker.jwk } },
        { recipients: [attacker.jwk], cnf: { jkt: attacker.jkt } },
        { delivery: 'any' },
      ] as object[]) {
        const refused = await answers.credential('sealed', { sub, ...more });
        expect(refused).toMatchObject({ status: 403, json: { code: 'DELIVERY_NOT_ALLOWED' } });
      }
      // It may ask for the envelope in anybody's name, with a key of its own beside the thumbprint.
      for (const cnf of [named.cnf, { ...named.cnf, jwk: attacker.jwk }]) {
        const { status, headers, text } = await answers.credential('sealed', { sub, cnf });
        expect([status, headers.get('content-type')]).toEqual([200, 'application/jose']);
        await expect(compactDecrypt(text, attacker.privateKey)).rejects.toThrow();
        const { plaintext } = await compactDecrypt(text, recipient.privateKey);
        expect(Buffer.from(plaintext).toString()).toContain(SECRET);
      }
    }
    expect(answers.tracesOf(SECRET)).toEqual([]);
  },

  'take a refresh token by a ticket that says `rfp: none`': async () => {
    const jwt = { tokenType: 'JWT', accessToken: 'access', refreshToken: SECRET };
    await owned('kept', { ...jwt, shareRefreshToken: false });
    await owned('provided', { ...jwt, provider: PROVIDER });
    for (const name of ['kept', 'provided'])
      for (const sub of SUBJECTS)
        for (const more of [
          { rfp: 'none' },
          { rfp: 'auto' },
          { rfp: 'none', shareRefreshToken: true },
        ] as object[]) {
          const { status, json } = await answers.credential(name, { sub, ...more });
          expect([status, Object.keys(json.token)]).toEqual([
            200,
            expect.not.arrayContaining(['refreshToken']),
          ]);
        }
    expect(answers.tracesOf(SECRET)).toEqual([]);
  },

  'make a refresh go to its own token URL': async () => {
    answers.add(await attackByTokenUrl(webhook, SENDABLE));
    expect(answers.tracesOf(SENDABLE)).toEqual([]);
  },

  'see tokens during a mediated refresh': async () => {
    answers.add(await attackByMediation(webhook, SENDABLE));
    expect(answers.tracesOf(SENDABLE)).toEqual([]);
  },

  'hide what it did': async () => {
    await owned('used', { tokenType: 'PlainText', value: SECRET });
    const use = async (): Promise<unknown> => {
      const jti = randomToken();
      expect((await webhook.credential('used', { jti })).status).toBe(200);
      return jti;
    };
    const uses = [await use(), await use()];
    const { head } = (await webhook.storage({ op: 'audit.list' })).json;
    const own = (await webhook.storage({ op: 'audit.list' })).json.items[0];
    const event = { eventType: 'CREDENTIAL_DELIVERED', timestamp: own.timestamp, outcome: 'success' };
    const forged = [
      { ...event, id: own.id },
      { ...event, id: 'made-up', source: 'webhook', serviceName: 'used', agentId: AGENT },
      { ...event, id: 'numbered', seq: own.seq, epoch: head.epoch, hash: head.hash },
    ];
    expect((await webhook.storage({ op: 'audit.append', events: forged })).json).toEqual({ accepted: 3 });
    for (const op of ['audit.delete', 'audit.put', 'audit.truncate', 'audit.purge'])
      expect((await webhook.storage({ op, id: own.id, seq: own.seq })).json.code).toBe('INVALID_REQUEST');
    await webhook.storage({ op: 'tokens.delete', serviceName: 'used' });

    const { items, head: now } = (await webhook.storage({ op: 'audit.list' })).json;
    const byItself = items.filter(({ source }: { source: string }) => source === 'webhook');
    const delivered = byItself.filter(
      ({ eventType }: { eventType: string }) => eventType === event.eventType,
    );
    expect(delivered.map(({ detail }: { detail: { jti: string } }) => detail.jti)).toEqual(uses.toReversed());
    expect(byItself.map(({ eventType }: { eventType: string }) => eventType)).toContain('CREDENTIAL_DELETED');
    // What it appended stands there as its own word, with the webhook's entry of that id untouched.
    expect(items.filter(({ id }: { id: string }) => id === own.id)).toEqual([
      expect.objectContaining({ source: 'service' }),
      own,
    ]);
    expect(now).toMatchObject({ epoch: head.epoch, seq: head.seq + forged.length + 1 });
    expect((await command(webhook, 'audit', 'verify')).stdout).toMatch(/the log is whole/);
  },
};

describe('A compromised control plane with a valid key fails to', () => {
  for (const [row, attack] of Object.entries(attacks)) test(row, attack);
});

test('Each row of the table has an attack', () => {
  expect(Object.keys(attacks).toSorted()).toEqual([...ROWS].toSorted());
});

test('The rows are those of PROTOCOL.md section 1', () => {
  const text = readFileSync(new URL('../../shared/PROTOCOL.md', import.meta.url), 'utf8');
  const lines = text.split('\n');
  const start = lines.findIndex((line) => line.startsWith('| A compromised service tries to'));
  const table = lines.slice(start + 2, lines.indexOf('', start));
  expect(table.map((line) => line.split('|')[1]?.trim())).toEqual(ROWS);
});

test('Keys, hosts and algorithms in a ticket header are ignored or rejected', async () => {
  await owned('doc', { tokenType: 'PlainText', value: SECRET });
  const [, payload = ''] = webhook.credentialTicket('doc').split('.');
  const attacker = await keyPair();
  for (const extra of [
    { jwk: attacker.jwk },
    { jku: 'https://evil.test/keys' },
    { x5u: 'https://evil.test/x' },
    { crit: ['b64'], b64: false },
    { zip: 'DEF' },
  ]) {
    const header = { alg: 'HS256', typ: 'sv-ticket+jwt', kid: webhook.key.id, ...extra };
    const input = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}`;
    const mac = createHmac('sha256', webhook.key.secret).update(utf8(input)).digest('base64url');
    expect((await answers.ask(webhook.send(`/v1/credential?ticket=${input}.${mac}`))).json.code).toBe(
      'TICKET_INVALID',
    );
  }
  expect(answers.tracesOf(SECRET)).toEqual([]);
});

async function keyPair(): Promise<{
  jwk: JWK;
  jkt: string;
  privateKey: Awaited<ReturnType<typeof importJWK>>;
}> {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = await exportJWK(pair.publicKey);
  return {
    jwk,
    jkt: await calculateJwkThumbprint(jwk, 'sha256'),
    privateKey: await importJWK(await exportJWK(pair.privateKey), 'ECDH-ES'),
  };
}
