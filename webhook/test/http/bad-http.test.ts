/** Bytes that are not a valid request get their documented rejection, and cost no memory. */
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { authorityOf, randomToken, signRequest, utf8 } from '@svault/shared';
import { memoryInUse } from '@svault/test-kit/memory-in-use';
import { type RawAnswer, rawRequest } from '@svault/test-kit/raw-http';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { type WebhookFixture, startFixture } from '../support/webhook-fixture.ts';

let webhook: BoundWebhook;
let fixture: WebhookFixture;
beforeAll(async () => {
  [webhook, fixture] = await Promise.all([boundWebhook(), startFixture()]);
});
afterAll(() => Promise.all([webhook.remove(), fixture.stop()]));

const MIB = 1024 * 1024;
const JSON_TYPE = 'content-type: application/json';
/** Every route that reads a body, with the type it asks for. The bind page is open only where nothing is bound. */
const BODY_ROUTES: readonly [string, string, () => string][] = [
  ['/v1/exchange', JSON_TYPE, () => webhook.url],
  ['/v1/health', JSON_TYPE, () => webhook.url],
  ['/v1/storage', JSON_TYPE, () => webhook.url],
  ['/v1/store', JSON_TYPE, () => webhook.url],
  ['/bind', 'content-type: application/x-www-form-urlencoded', () => fixture.webhook.url],
];
/** What a stranger's body without end is answered with: only the form of the bind page is read at all. */
const STRANGERS_ARE_TOLD: Readonly<Record<string, unknown>> = {
  '/v1/exchange': [401, 'SIGNATURE_INVALID'],
  '/v1/health': [401, 'SIGNATURE_INVALID'],
  '/v1/storage': [401, 'SIGNATURE_INVALID'],
  '/v1/store': [401, 'TICKET_INVALID'],
  '/bind': [413, 'TOO_LARGE'],
};
const ROUTES: readonly [string, string][] = [
  ['GET', '/v1/credential'],
  ['GET', '/v1/health'],
  ['GET', '/bind'],
  ['GET', '/healthz'],
  ['GET', '/readyz'],
  ['GET', '/nowhere'],
  ...BODY_ROUTES.map(([path]): [string, string] => ['POST', path]),
];

const head = (method: string, path: string, ...lines: string[]): string =>
  [`${method} ${path} HTTP/1.1`, 'host: webhook.test', ...lines, '', ''].join('\r\n');
function codeOf({ body }: RawAnswer): unknown {
  return (JSON.parse(body) as { code: unknown }).code;
}
/** The bytes of one endless chunked body. */
function* endless(start: string, maxBytes: number): Generator<string | Uint8Array> {
  yield start;
  const piece = Buffer.concat([utf8('10000\r\n'), Buffer.alloc(0x10000, 0x20), utf8('\r\n')]);
  for (let sent = 0; sent < maxBytes; sent += piece.length) yield piece;
}

describe.each(BODY_ROUTES)('a body for %s', (path, type, url) => {
  test.each([
    ['declared a byte too large', MIB + 1],
    ['declared as 4 GiB', 4 * 1024 * MIB],
  ])('%s is 413 before a byte of it', async (_what, length) => {
    const answer = await rawRequest(url(), [head('POST', path, type, `content-length: ${length}`)]);
    expect([answer.status, codeOf(answer)]).toEqual([413, 'TOO_LARGE']);
    expect(answer.head).toMatch(/^connection: close$/im);
  });

  test('without end from a stranger is refused, at the cap where nothing else tells who sends it', async () => {
    const pieces = endless(head('POST', path, type, 'transfer-encoding: chunked'), 64 * MIB);
    const answer = await rawRequest(url(), pieces);
    expect([answer.status, codeOf(answer)]).toEqual(STRANGERS_ARE_TOLD[path]);
  });

  test('that is compressed is 400, never opened', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * MIB), { level: 9 });
    for (const coding of ['gzip', 'deflate', 'br', 'GZIP', 'identity, gzip', 'x']) {
      const lines = [type, `content-encoding: ${coding}`, `content-length: ${bomb.length}`];
      const answer = await rawRequest(url(), [head('POST', path, ...lines), bomb]);
      expect([coding, answer.status, codeOf(answer)]).toEqual([coding, 400, 'INVALID_REQUEST']);
    }
  });
});

describe.each(ROUTES)('%s %s', (method, path) => {
  const url = (): string => (path === '/bind' ? fixture.webhook.url : webhook.url);

  test('with 100,000 headers, or a large one, is 431', async () => {
    const many = Array.from({ length: 100_000 }, (_, at) => `x-${at}: ${at}`);
    for (const lines of [
      many,
      [`x-large: ${'a'.repeat(MIB)}`],
      Array<string>(2_000).fill('x-agent-key: svagent_x'),
    ]) {
      const answer = await rawRequest(url(), [head(method, path, ...lines)]);
      expect([answer.status, codeOf(answer)]).toEqual([431, 'TOO_LARGE']);
    }
    const target = await rawRequest(url(), [head(method, `${path}?${'a'.repeat(20_000)}`)]);
    expect(target.status).toBe(431);
  });

  const chunked = 'transfer-encoding: chunked';
  test.each([
    ['both lengths', ['content-length: 5', chunked], '0\r\n\r\n'],
    ['both lengths, the other way round', [chunked, 'content-length: 5'], '0\r\n\r\n'],
    ['two lengths', ['content-length: 2', 'content-length: 3'], '{}x'],
    ['one length twice', ['content-length: 2', 'content-length: 2'], '{}'],
    ['a list of lengths', ['content-length: 2, 2'], '{}'],
    ['a negative length', ['content-length: -1'], ''],
    ['a signed length', ['content-length: +2'], '{}'],
    ['a hexadecimal length', ['content-length: 0x2'], '{}'],
    ['an overflowing length', ['content-length: 18446744073709551618'], '{}'],
    ['a coding that is not known', ['transfer-encoding: xchunked'], '0\r\n\r\n'],
    ['chunked not last', ['transfer-encoding: chunked, identity'], '0\r\n\r\n'],
    ['a space before the colon', ['transfer-encoding : chunked'], '0\r\n\r\n'],
    ['a broken chunk size', [chunked], 'zz\r\n{}\r\n0\r\n\r\n'],
    ['an overflowing chunk size', [chunked], 'fffffffffffffffff\r\n{}\r\n0\r\n\r\n'],
    ['a chunk that is longer than it says', [chunked], '1\r\n{}\r\n0\r\n\r\n'],
    ['a folded header', ['x-a: b', ' c: d'], ''],
    ['NUL in a header', ['x-a: \0'], ''],
    ['a bare CR in a header', ['x-a: b\rx-c: d'], ''],
    ['no name', [': x'], ''],
  ])('%s: no answer to what hides behind', async (what, lines, body) => {
    const hidden = head('GET', '/v1/store');
    const answer = await rawToEnd(url(), head(method, path, ...lines) + body + hidden);
    const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
    expect(statuses.filter((status) => status >= 500 || status === 405)).toEqual([]);
    // A header that is sound gets its answer by the method alone; a body that breaks after it ends the connection.
    if (!/chunk|coding/.test(what)) expect(statuses).toEqual([400]);
  });
});

/** Everything that comes back until the other side ends the connection, or answers the request that came last. */
function rawToEnd(url: string, bytes: string): Promise<string> {
  const { port, hostname } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ port: Number(port), host: hostname });
    let received = '';
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => (received += text));
    socket.on('error', () => resolve(received));
    socket.on('close', () => resolve(received));
    socket.write(bytes, 'latin1');
    socket.end();
  });
}

test('a line that is no HTTP is 400', async () => {
  for (const bytes of [
    'GET /healthz HTTP/9.9\r\nhost: a\r\n\r\n',
    'BREW /healthz HTTP/1.1\r\nhost: a\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '\x16\x03\x01\x02\x00',
    'GET / HTTP/1.1\r\n\r\n',
  ]) {
    const answer = await rawRequest(webhook.url, [bytes]);
    expect([bytes, answer.status, codeOf(answer)]).toEqual([bytes, 400, 'INVALID_REQUEST']);
  }
});

describe('a header twice', () => {
  const twice = async (
    path: string,
    method: string,
    lines: readonly string[],
    body = '',
  ): Promise<number> => {
    const length = body === '' ? [] : [`content-length: ${Buffer.byteLength(body)}`];
    return (await rawRequest(webhook.url, [head(method, path, ...lines, ...length) + body])).status;
  };
  const STORE = '{"tokenType":"PlainText","value":"v"}';

  test('Authorization and the ticket', async () => {
    const bearer = `authorization: Bearer ${webhook.storeTicket('doc')}`;
    expect(await twice('/v1/store', 'POST', [JSON_TYPE, bearer, bearer], STORE)).toBe(401);
    expect(await twice('/v1/store', 'POST', [JSON_TYPE, bearer, 'Authorization: Basic eDp5'], STORE)).toBe(
      401,
    );
    expect(await twice('/v1/store', 'POST', [JSON_TYPE, bearer], STORE)).toBe(200);
    const ticket = `ticket=${webhook.credentialTicket('doc')}`;
    const mine = `authorization: Bearer ${webhook.credentialTicket('doc')}`;
    expect(await twice('/v1/credential', 'GET', [mine, mine])).toBe(401);
    expect(await twice(`/v1/credential?${ticket}&${ticket}`, 'GET', [])).toBe(401);
    expect(await twice(`/v1/credential?${ticket}&Ticket=x&ticket[]=x`, 'GET', [])).toBe(200);
  });

  test('what a signature is made of', async () => {
    const body = '{"op":"tokens.list"}';
    for (const name of ['signature', 'signature-input', 'content-digest', 'content-type']) {
      const headers = signRequest({
        method: 'POST',
        authority: authorityOf(webhook.env['SV_WEBHOOK_URL'] ?? ''),
        path: '/v1/storage',
        body: utf8(body),
        key: webhook.key,
        nowMs: webhook.clock.now(),
      });
      const lines = Object.entries(headers).map(([field, value]) => `${field}: ${value}`);
      expect([
        name,
        await twice('/v1/storage', 'POST', [...lines, `${name}: ${headers[name]}`], body),
      ]).toEqual([name, 401]);
      expect([
        name,
        await twice('/v1/storage', 'POST', [...lines, `${name.toUpperCase()}: x`], body),
      ]).toEqual([name, 401]);
      expect(await twice('/v1/storage', 'POST', lines, body)).toBe(200);
    }
  });

  test('Origin', async () => {
    const bearer = `authorization: Bearer ${webhook.storeTicket('doc')}`;
    const origin = `origin: ${new URL(webhook.env['SV_WEBHOOK_SERVICE_URL'] ?? '').origin}`;
    expect(
      await twice('/v1/store', 'POST', [JSON_TYPE, bearer, origin, 'origin: https://evil.test'], STORE),
    ).toBe(403);
    expect(await twice('/v1/store', 'POST', [JSON_TYPE, bearer, origin], STORE)).toBe(200);
  });
});

test('a form that is none, or asks for a field twice, is refused', async () => {
  const post = (body: string, type = 'application/x-www-form-urlencoded') =>
    fixture.send({ method: 'POST', path: '/bind', headers: { 'content-type': type }, body });
  for (const [body, type] of [
    ['{"setup_token":"x"}', 'application/json'],
    ['setup_token=a&setup_token=b'],
    ['connect_token=a&connect_token=b'],
    ['other=a'],
    ['%E0%A4%A'],
    [''],
    ['\0'],
  ] as const) {
    const { status, json } = await post(body, type);
    expect([body, status, json?.code]).toEqual([body, 400, 'INVALID_REQUEST']);
  }
  expect((await post(`setup_token=${'a'.repeat(5_000)}`)).status).toBe(413);
});

test('memory stays flat under bodies that would fill it', async () => {
  const before = memoryInUse();
  let peak = 0;
  const start = (path: string): string => head('POST', path, JSON_TYPE, 'transfer-encoding: chunked');
  for (let round = 0; round < 4; round += 1) {
    const floods = BODY_ROUTES.flatMap(([path, , url]) =>
      Array.from({ length: 8 }, () => rawRequest(url(), endless(start(path), 256 * MIB))),
    );
    peak = Math.max(peak, memoryInUse());
    const answers = await Promise.all(floods);
    peak = Math.max(peak, memoryInUse());
    expect(answers.map(({ status }) => status).filter((status) => ![400, 401, 413].includes(status))).toEqual(
      [],
    );
  }
  // 160 senders of up to 256 MiB: 40 GiB offered, of which nothing but a form of 4 KiB is ever held.
  expect(peak - before).toBeLessThan(96 * MIB);
  expect((await webhook.send(`/v1/credential?ticket=${randomToken()}`)).status).toBe(401);
});
