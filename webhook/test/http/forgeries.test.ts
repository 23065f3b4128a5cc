/**
 * R15 over HTTP: whatever is not signed by the right key, for this purpose, tenant and webhook, is refused before the
 * database is read. Statements are counted at the driver, since what matters is that not one runs.
 */
import { createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  type HmacKey,
  authorityOf,
  contentDigest,
  issueTicket,
  randomToken,
  signRequest,
  signatureBase,
  toBase64,
  utf8,
} from '@svault/shared';
import { type BoundWebhook, OWNER, boundWebhook } from '../support/bound-webhook.ts';

let webhook: BoundWebhook;
let other: BoundWebhook;
/** SQL that ran since the test began, of requests alone. */
let statements: string[];

/**
 * What runs whoever asks: `data_version` reads no page, and after a commit by somebody else or a checkpoint the next
 * request, of whatever kind, has the program read its own few keys again, with the rows beside them that one MAC
 * covers.
 */
const NO_READ =
  /^PRAGMA data_version$|FROM master_keys|UPDATE master_keys|^SELECT \* FROM binding(_keys ORDER BY row|_code)?$|^SELECT hash FROM setup_token$|FROM binding_state$/;

beforeAll(async () => {
  [webhook, other] = await Promise.all([boundWebhook(), boundWebhook()]);
  await webhook.store('doc', { tokenType: 'PlainText', value: 'the secret' });
});
afterAll(() => Promise.all([webhook.remove(), other.remove()]));

beforeEach(() => {
  statements = [];
  const db = new Database(':memory:');
  const prototype = Object.getPrototypeOf(db.prepare('SELECT 1')) as Record<
    string,
    (...given: unknown[]) => unknown
  >;
  db.close();
  for (const method of ['run', 'get', 'all', 'iterate']) {
    const original = prototype[method]!;
    vi.spyOn(prototype, method).mockImplementation(function (this: unknown, ...given: unknown[]) {
      const { source } = this as { source: string };
      if (!NO_READ.test(source)) statements.push(source);
      return original.apply(this, given);
    });
  }
});
afterEach(() => vi.restoreAllMocks());

const seconds = (): number => Math.floor(webhook.clock.now() / 1000);
const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const claims = (changes: object = {}): Record<string, unknown> => ({
  iss: webhook.env['SV_WEBHOOK_SERVICE_URL'],
  aud: webhook.webhookId,
  sub: OWNER,
  op: 'credential',
  svc: 'doc',
  jti: randomToken(),
  iat: seconds(),
  exp: seconds() + 60,
  rfp: 'none',
  ...changes,
});
const header = (changes: object = {}): Record<string, unknown> => ({
  alg: 'HS256',
  typ: 'sv-ticket+jwt',
  kid: webhook.key.id,
  ...changes,
});
function jws(head: object, payload: object, mac: (input: string) => Buffer | string): string {
  const input = `${base64url(head)}.${base64url(payload)}`;
  return `${input}.${Buffer.from(mac(input)).toString('base64url')}`;
}
const hmac =
  (algorithm: string, secret: Uint8Array = webhook.key.secret) =>
  (input: string): Buffer =>
    createHmac(algorithm, secret).update(input).digest();

/** The harness itself: a genuine one is seen to read. */
test('a genuine ticket and a genuine request do read', async () => {
  expect(
    (await webhook.send(`/v1/credential?ticket=${jws(header(), claims(), hmac('sha256'))}`)).status,
  ).toBe(200);
  expect(statements.some((sql) => sql.includes('INSERT INTO claims'))).toBe(true);
  statements.length = 0;
  expect((await webhook.signed('/v1/health')).status).toBe(200);
  expect(statements.some((sql) => sql.includes('INSERT INTO claims'))).toBe(true);
});

describe('a ticket', () => {
  async function refused(token: string): Promise<void> {
    const bearer = { headers: { authorization: `Bearer ${token}` } };
    const answers = [
      await webhook.send(`/v1/credential?ticket=${encodeURIComponent(token)}`),
      await webhook.send('/v1/credential', bearer),
      await webhook.send('/v1/store', { method: 'POST', ...bearer }),
    ];
    for (const { status, json } of answers)
      expect([token, status, json.code]).toEqual([token, 401, 'TICKET_INVALID']);
    expect(statements).toEqual([]);
  }

  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  test.each<[string, () => string]>([
    ['none, without signature', () => jws(header({ alg: 'none' }), claims(), () => '')],
    ['None', () => jws(header({ alg: 'None' }), claims(), () => '')],
    ['none, with the right MAC', () => jws(header({ alg: 'none' }), claims(), hmac('sha256'))],
    ['no alg', () => jws(header({ alg: undefined }), claims(), hmac('sha256'))],
    ['HS256 without signature', () => jws(header(), claims(), () => '')],
    ['hs256', () => jws(header({ alg: 'hs256' }), claims(), hmac('sha256'))],
    ['HS384', () => jws(header({ alg: 'HS384' }), claims(), hmac('sha384'))],
    ['HS512', () => jws(header({ alg: 'HS512' }), claims(), hmac('sha512'))],
    ['HS512 called HS256', () => jws(header(), claims(), hmac('sha512'))],
    [
      'RS256',
      () => jws(header({ alg: 'RS256' }), claims(), (input) => sign('sha256', utf8(input), rsa.privateKey)),
    ],
    ['RS256 with the MAC', () => jws(header({ alg: 'RS256' }), claims(), hmac('sha256'))],
    [
      'ES256',
      () => jws(header({ alg: 'ES256' }), claims(), (input) => sign('sha256', utf8(input), ec.privateKey)),
    ],
    ['a list of algorithms', () => jws(header({ alg: ['HS256'] }), claims(), hmac('sha256'))],
    ['an empty key', () => jws(header(), claims(), hmac('sha256', new Uint8Array(0)))],
    ['a key of zeros', () => jws(header(), claims(), hmac('sha256', new Uint8Array(32)))],
    [
      'the key as text',
      () =>
        jws(header(), claims(), hmac('sha256', utf8(Buffer.from(webhook.key.secret).toString('base64url')))),
    ],
    ['the key id as key', () => jws(header(), claims(), hmac('sha256', utf8(webhook.key.id)))],
  ])('by another algorithm or key: %s', async (_what, make) => refused(make()));

  test.each<[string, object]>([
    ['an unknown kid', { kid: 'unknown' }],
    ['the kid of a binding', { kid: 'bind' }],
    ['no kid', { kid: undefined }],
    ['a kid that is a path', { kid: '../../dev/null' }],
    ['a kid that is SQL', { kid: "' OR 1=1 --" }],
    ['__proto__', { kid: '__proto__' }],
    ['another type', { typ: 'JWT' }],
    ['no type', { typ: undefined }],
    ['a member more', { cty: 'JWT' }],
    ['b64 false', { b64: false, crit: ['b64'] }],
  ])('with another header: %s', async (_what, changes) =>
    refused(jws(header(changes), claims(), hmac('sha256'))),
  );

  test('of another purpose, tenant or webhook', async () => {
    const [store, proxy] = [claims({ op: 'store' }), claims({ op: 'proxy', htm: 'GET', prx: 'prx_A' })];
    const onlyAt = async (path: string, token: string, method = 'GET'): Promise<void> => {
      const answer = await webhook.send(path, { method, headers: { authorization: `Bearer ${token}` } });
      expect([path, answer.json.code]).toEqual([path, 'TICKET_INVALID']);
      expect(statements).toEqual([]);
    };
    await onlyAt('/v1/credential', jws(header(), store, hmac('sha256')));
    await onlyAt('/v1/store', jws(header(), claims(), hmac('sha256')), 'POST');
    for (const changes of [
      { ...proxy },
      { aud: other.webhookId },
      { aud: [webhook.webhookId] },
      { aud: undefined },
      { iss: `${String(webhook.env['SV_WEBHOOK_SERVICE_URL'])}/` },
      { iss: 'https://another.test' },
      { op: 'CREDENTIAL' },
      { sub: 'whk_x' },
      { svc: 'a/b' },
      { svc: 'e\u0301' },
      { jti: 'short' },
      { jti: { a: 1 } },
      { exp: seconds() + 61 },
      { exp: String(seconds() + 60) },
      { iat: seconds() + 31, exp: seconds() + 60 },
      { iat: undefined },
      { rfp: 'maybe' },
      { cnf: 'x' },
    ])
      await refused(jws(header(), claims(changes), hmac('sha256')));
    await refused(other.credentialTicket('doc'));
    const borrowed = { ...other.key, id: webhook.key.id };
    await refused(issueTicket(claims() as unknown as Parameters<typeof issueTicket>[0], borrowed));
  });

  test('cut, doubled, padded or with any one bit flipped', async () => {
    const token = webhook.credentialTicket('doc');
    const [head = '', payload = '', mac = ''] = token.split('.');
    for (const changed of [
      `${head}.${payload}`,
      `${head}.${payload}.`,
      `.${payload}.${mac}`,
      `${head}..${mac}`,
      `${token}.${mac}`,
      `${token}.`,
      `${head}.${payload}.${mac}${mac}`,
      `${head}.${payload}.${mac}=`,
      `${head}.${payload}.${mac.slice(0, 22)}`,
      `${head}.${payload}.${mac.slice(0, -1)}`,
      `${head}.${payload}.${Buffer.from(mac, 'base64url').toString('base64')}`,
      `${head}.${payload}.${Buffer.from(mac, 'base64url').toString('hex')}`,
      ` ${token}`,
      `${token}\t`,
      token.padEnd(4097, 'A'),
    ])
      expect([
        changed,
        (await webhook.send(`/v1/credential?ticket=${encodeURIComponent(changed)}`)).status,
      ]).toEqual([changed, 401]);
    for (let at = 0; at < token.length; at += 1) {
      const bit = 1 << (at % 7);
      const flipped = String.fromCharCode(token.charCodeAt(at) ^ bit);
      const changed = encodeURIComponent(token.slice(0, at) + flipped + token.slice(at + 1));
      expect([at, (await webhook.send(`/v1/credential?ticket=${changed}`)).status]).toEqual([at, 401]);
    }
    expect(statements).toEqual([]);
    expect((await webhook.send(`/v1/credential?ticket=${token}`)).status).toBe(200);
  });
});

describe('a signed request', () => {
  const BODY = '{"op":"tokens.list"}';
  const authority = (): string => authorityOf(webhook.env['SV_WEBHOOK_URL'] ?? '');
  const signedBy = (key: HmacKey, changes: Partial<Parameters<typeof signRequest>[0]> = {}) =>
    signRequest({
      method: 'POST',
      authority: authority(),
      path: '/v1/storage',
      body: utf8(BODY),
      key,
      nowMs: webhook.clock.now(),
      ...changes,
    });
  async function refused(headers: Record<string, string>, body = BODY, path = '/v1/storage'): Promise<void> {
    const answer = await webhook.send(path, { method: 'POST', headers, body });
    expect([headers, answer.status, answer.json.code]).toEqual([headers, 401, 'SIGNATURE_INVALID']);
    expect(statements).toEqual([]);
  }
  /** Signed with the right key, by hand, so that what the library would never write can be sent. */
  function byHand(
    parameters: Record<string, string | number | undefined>,
    algorithm = 'sha256',
  ): Record<string, string> {
    const fields = { 'content-type': 'application/json', 'content-digest': contentDigest(utf8(BODY)) };
    const covered = ['@method', '@authority', '@path', '@query', 'content-type', 'content-digest'];
    const all: Record<string, string | number | undefined> = {
      created: seconds(),
      expires: seconds() + 60,
      nonce: `"${randomToken()}"`,
      keyid: `"${webhook.key.id}"`,
      alg: '"hmac-sha256"',
      tag: '"sv-webhook-v1"',
      ...parameters,
    };
    const list = Object.entries(all).flatMap(([name, value]) =>
      value === undefined ? [] : [`;${name}=${value}`],
    );
    const params = `(${covered.map((name) => `"${name}"`).join(' ')})${list.join('')}`;
    const message = {
      method: 'POST',
      authority: authority(),
      path: '/v1/storage',
      query: '',
      headers: Object.entries(fields),
      body: utf8(BODY),
    };
    const mac = createHmac(algorithm, webhook.key.secret)
      .update(signatureBase(message, covered, params))
      .digest();
    return { ...fields, 'signature-input': `sv=${params}`, signature: `sv=:${toBase64(mac)}:` };
  }

  test('by hand is the same as by the library', async () => {
    expect(
      (await webhook.send('/v1/storage', { method: 'POST', headers: byHand({}), body: BODY })).status,
    ).toBe(200);
  });

  test.each<[string, Record<string, string | number | undefined>]>([
    ['alg none', { alg: '"none"' }],
    ['no alg', { alg: undefined }],
    ['hmac-sha512', { alg: '"hmac-sha512"' }],
    ['rsa-v1_5-sha256', { alg: '"rsa-v1_5-sha256"' }],
    ['ed25519', { alg: '"ed25519"' }],
    ['alg in capitals', { alg: '"HMAC-SHA256"' }],
    ['another tag', { tag: '"sv-webhook-v2"' }],
    ['no tag', { tag: undefined }],
    ['no expiry', { expires: undefined }],
    ['too long a life', { expires: 9_999_999_999 }],
    ['no nonce', { nonce: undefined }],
    ['a short nonce', { nonce: '"abc"' }],
    ['a parameter more', { extra: 1 }],
    ['no key id', { keyid: undefined }],
    ['the key id of a binding', { keyid: '"bind"' }],
  ])('with the right MAC but %s', async (_what, parameters) => {
    await refused(byHand(parameters));
  });

  test('by another algorithm under the right name, or another key', async () => {
    await refused(byHand({}, 'sha512'));
    for (const key of [
      { id: webhook.key.id, secret: randomBytes(32) },
      { id: webhook.key.id, secret: other.key.secret },
      { id: 'unknown', secret: webhook.key.secret },
      other.key,
    ])
      await refused(signedBy(key));
  });

  test('for another method, authority, path or body', async () => {
    await refused(signedBy(webhook.key, { method: 'PUT' }));
    await refused(signedBy(webhook.key, { authority: 'evil.test' }));
    await refused(signedBy(webhook.key, { authority: `${authority()}:443` }));
    await refused(signedBy(webhook.key, { path: '/v1/health' }));
    await refused(signedBy(webhook.key, { path: '/v1/storage/' }));
    await refused(signedBy(webhook.key, { path: '/V1/storage' }));
    await refused(signedBy(webhook.key), '{"op":"tokens.lisT"}');
    await refused(signedBy(webhook.key), `${BODY} `);
    await refused(signedBy(webhook.key, { path: '/v1/exchange' }));
    await refused(signedBy(webhook.key), BODY, '/v1/exchange');
    await refused(signedBy(webhook.key), BODY, '/v1/storage?');
    await refused(signedBy(webhook.key), BODY, '/v1/storage?a=1');
  });

  test('with a ticket as its signature, or as a ticket', async () => {
    const token = webhook.credentialTicket('doc');
    const mac = Buffer.from(token.split('.')[2] ?? '', 'base64url').toString('base64');
    await refused({ ...signedBy(webhook.key), signature: `sv=:${mac}:` });
    await refused({ authorization: `Bearer ${token}`, 'content-type': 'application/json' });
    const { signature = '' } = signedBy(webhook.key);
    const asTicket = `${base64url(header())}.${base64url(claims())}.${signature.slice(4, -1)}`;
    expect((await webhook.send(`/v1/credential?ticket=${encodeURIComponent(asTicket)}`)).status).toBe(401);
    expect(statements).toEqual([]);
  });

  test('cut or doubled', async () => {
    const headers = signedBy(webhook.key);
    const { signature = '', 'signature-input': input = '' } = headers;
    for (const changed of [
      { signature: '' },
      { signature: 'sv=::' },
      { signature: `${signature.slice(0, 20)}:` },
      { signature: `${signature.slice(0, -2)}:` },
      { signature: `${signature}, ${signature}` },
      { signature: `${signature}, sw=:AAAA:` },
      { signature: signature.replace(':', ':AAAA') },
      { signature: signature.replace('sv=', 'sw=') },
      { signature: signature.replaceAll(':', '"') },
      { signature: `sv=:${Buffer.from(signature.slice(4, -1), 'base64').toString('hex')}:` },
      { 'signature-input': `${input}, ${input}` },
      { 'signature-input': input.slice(0, -1) },
      { 'signature-input': input.replace('"@method" ', '') },
      { 'signature-input': input.replace(' "content-digest"', '') },
      { 'signature-input': input.replace('"@path"', '"@path" "@path"') },
      { 'content-digest': '' },
      { 'content-digest': `${headers['content-digest']}, ${headers['content-digest']}` },
    ])
      await refused({ ...headers, ...changed });
    for (const name of ['signature', 'signature-input', 'content-digest']) {
      const { [name]: _, ...without } = headers;
      await refused(without);
    }
  });
});
