/**
 * R15 over HTTP: whatever is not signed by the right key, for this purpose, tenant and webhook, is refused before the
 * database is read. Statements are counted at the driver, since what matters is that not one runs. The conformance
 * suite and the vectors of `shared/` have the many more forms of a forgery.
 */
import { createHmac, randomBytes } from 'node:crypto';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type HmacKey, authorityOf, signRequest, toBase64url, utf8 } from '@svault/shared';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';

let webhook: BoundWebhook;
let other: BoundWebhook;
/** SQL that ran since the test began, of requests alone. */
let statements: string[];

/**
 * What runs whoever asks: `data_version` reads no page, and after a commit by somebody else or a checkpoint the next
 * request, of whatever kind, has the program read its own few keys again, with the rows beside them that one MAC
 * covers; and the checkpoint of a quiet database.
 */
const NO_READ =
  /^PRAGMA (data_version|fullfsync = ON|wal_checkpoint\(TRUNCATE\))$|FROM master_keys|UPDATE master_keys|^SELECT [^]*FROM binding(_keys ORDER BY row|_code)?$|^SELECT hash FROM setup_token$|FROM binding_state$/;

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

/** The text with one bit of one character turned, for each of its characters. */
const flipsOf = (text: string): string[] =>
  Array.from(text, (character, at) => {
    const flipped = String.fromCharCode(character.charCodeAt(0) ^ (1 << (at % 7)));
    return text.slice(0, at) + flipped + text.slice(at + 1);
  });

describe('a ticket', () => {
  const fetchWith = (token: string) => webhook.send(`/v1/credential?ticket=${encodeURIComponent(token)}`);
  async function refused(token: string): Promise<void> {
    const bearer = { headers: { authorization: `Bearer ${token}` } };
    for (const answer of [
      await fetchWith(token),
      await webhook.send('/v1/credential', bearer),
      await webhook.send('/v1/store', { method: 'POST', ...bearer }),
    ])
      expect([token, answer.status, answer.json.code]).toEqual([token, 401, 'TICKET_INVALID']);
    expect(statements).toEqual([]);
  }
  /** A good ticket with another header, under a MAC by this algorithm and secret. */
  function forged(changes: object, algorithm = 'sha256', secret: Uint8Array = webhook.key.secret): string {
    const [, payload = ''] = webhook.credentialTicket('doc').split('.');
    const header = { alg: 'HS256', typ: 'sv-ticket+jwt', kid: webhook.key.id, ...changes };
    const input = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}`;
    return `${input}.${createHmac(algorithm, secret).update(input).digest('base64url')}`;
  }

  test('that is genuine does read', async () => {
    expect((await fetchWith(forged({}))).status).toBe(200);
    expect(statements.some((sql) => sql.includes('INSERT INTO claims'))).toBe(true);
  });

  test.each<[string, () => string]>([
    ['none, without signature', () => forged({ alg: 'none' }).replace(/[^.]*$/, '')],
    ['none, with the right MAC', () => forged({ alg: 'none' })],
    ['HS512', () => forged({ alg: 'HS512' }, 'sha512')],
    ['HS512 called HS256', () => forged({}, 'sha512')],
    ['RS256 with the MAC', () => forged({ alg: 'RS256' })],
    ['an empty key', () => forged({}, 'sha256', new Uint8Array(0))],
    ['the key as text', () => forged({}, 'sha256', utf8(toBase64url(webhook.key.secret)))],
    ['an unknown kid', () => forged({ kid: 'unknown' })],
    ['the kid of a binding', () => forged({ kid: 'bind' })],
    ['a kid that is SQL', () => forged({ kid: "' OR 1=1 --" })],
    ['another type', () => forged({ typ: 'JWT' })],
    ['a member more', () => forged({ cty: 'JWT' })],
    ['the key of another webhook', () => other.credentialTicket('doc')],
    ['the key of another webhook under the name of ours', () => forged({}, 'sha256', other.key.secret)],
    ['another audience', () => webhook.credentialTicket('doc', { aud: other.webhookId })],
    ['another issuer', () => webhook.credentialTicket('doc', { iss: 'https://another.test' })],
    ['times that are over', () => webhook.credentialTicket('doc', { iat: 1, exp: 61 })],
  ])('is refused before a read: %s', (_what, make) => refused(make()));

  // spec: GET /v1/credential | agent, via 307 | Returns the credential after verifying the ticket signature.
  test('with any one bit flipped is refused before a read, and does not use up the genuine one', async () => {
    const token = webhook.credentialTicket('doc');
    for (const flipped of flipsOf(token))
      expect([flipped, (await fetchWith(flipped)).status]).toEqual([flipped, 401]);
    expect(statements).toEqual([]);
    expect((await fetchWith(token)).status).toBe(200);
  });
});

describe('a signed request', () => {
  const BODY = '{"op":"tokens.list"}';
  const signedBy = (key: HmacKey, changes: Partial<Parameters<typeof signRequest>[0]> = {}) =>
    signRequest({
      method: 'POST',
      authority: authorityOf(webhook.env['SV_WEBHOOK_URL'] ?? ''),
      path: '/v1/storage',
      body: utf8(BODY),
      key,
      nowMs: webhook.clock.now(),
      ...changes,
    });
  const send = (headers: Record<string, string>, body = BODY, path = '/v1/storage') =>
    webhook.send(path, { method: 'POST', headers, body });
  async function refused(...call: Parameters<typeof send>): Promise<void> {
    const { status, json } = await send(...call);
    expect([call, status, json.code]).toEqual([call, 401, 'SIGNATURE_INVALID']);
    expect(statements).toEqual([]);
  }

  test('that is genuine does read', async () => {
    expect((await send(signedBy(webhook.key))).status).toBe(200);
    expect(statements.some((sql) => sql.includes('INSERT INTO claims'))).toBe(true);
  });

  // spec: HMAC-SHA256 request signing,
  // spec: The webhook must verify every signature before processing a request.
  test('by another key, or for another method, authority, path or body, is refused before a read', async () => {
    const { id, secret } = webhook.key;
    for (const key of [
      { id, secret: randomBytes(32) },
      { id, secret: other.key.secret },
      { id: 'unknown', secret },
      other.key,
    ])
      await refused(signedBy(key));
    for (const changes of [
      { method: 'PUT' },
      { authority: 'evil.test' },
      { path: '/v1/health' },
      { path: '/v1/storage/' },
      { nowMs: webhook.clock.now() - 91_000 },
    ])
      await refused(signedBy(webhook.key, changes));
    await refused(signedBy(webhook.key), `${BODY} `);
    await refused(signedBy(webhook.key), BODY, '/v1/storage?a=1');
    await refused(signedBy(webhook.key), BODY, '/v1/exchange');
  });

  test('with a ticket as its signature is refused, and its signature is no ticket', async () => {
    const token = webhook.credentialTicket('doc');
    const [header, payload, mac = ''] = token.split('.');
    const headers = signedBy(webhook.key);
    await refused({ ...headers, signature: `sv=:${Buffer.from(mac, 'base64url').toString('base64')}:` });
    await refused({ authorization: `Bearer ${token}`, 'content-type': 'application/json' });
    const asTicket = encodeURIComponent(`${header}.${payload}.${headers['signature']!.slice(4, -1)}`);
    expect((await webhook.send(`/v1/credential?ticket=${asTicket}`)).status).toBe(401);
    expect(statements).toEqual([]);
  });

  test('with any one bit flipped is refused before a read, and does not use up the genuine one', async () => {
    const headers = signedBy(webhook.key);
    for (const name of ['signature-input', 'signature', 'content-digest', 'content-type'])
      for (const flipped of flipsOf(headers[name]!))
        if (/^[\x20-\x7e]*$/.test(flipped)) await refused({ ...headers, [name]: flipped });
    for (const flipped of flipsOf(BODY)) await refused(headers, flipped);
    expect((await send(headers)).status).toBe(200);
  });
});
