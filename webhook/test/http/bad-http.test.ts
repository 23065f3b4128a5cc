/** Bytes that are not a valid request get their documented rejection, at every route that reads a body. */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RawAnswer, rawRequest } from '@svault/test-kit/raw-http';
import { type WebhookFixture, startFixture } from '../support/webhook-fixture.ts';

let fixture: WebhookFixture;
beforeAll(async () => {
  fixture = await startFixture();
});
afterAll(() => fixture.stop());

const MIB = 1024 * 1024;
const bomb = gzipSync(Buffer.alloc(64 * MIB));
const JSON_TYPE = 'content-type: application/json';
const FORM_TYPE = 'content-type: application/x-www-form-urlencoded';
const CHUNKED = 'transfer-encoding: chunked';
const head = (path: string, ...lines: string[]): string =>
  [`POST ${path} HTTP/1.1`, 'host: webhook.test', ...lines, '', ''].join('\r\n');
const told = ({ status, body }: RawAnswer): unknown[] => [
  status,
  (JSON.parse(body) as { code: unknown }).code,
];
/** A chunked body without end, of which so many bytes are offered. */
function* endless(start: string): Generator<string | Uint8Array> {
  yield start;
  const piece = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(0x10000, 0x20), Buffer.from('\r\n')]);
  for (let sent = 0; sent < 64 * MIB; sent += piece.length) yield piece;
}

/** Only the form of the bind page is read of a stranger at all. */
test.each([
  ['/v1/exchange', JSON_TYPE, [401, 'SIGNATURE_INVALID']],
  ['/v1/health', JSON_TYPE, [401, 'SIGNATURE_INVALID']],
  ['/v1/storage', JSON_TYPE, [401, 'SIGNATURE_INVALID']],
  ['/v1/store', JSON_TYPE, [401, 'TICKET_INVALID']],
  ['/bind', FORM_TYPE, [413, 'TOO_LARGE']],
])('%s rejects a body that is too large, compressed or endless', async (path, type, endlessly) => {
  const send = (...parts: (string | Uint8Array)[]) => rawRequest(fixture.webhook.url, parts);
  const declared = await send(head(path, type, `content-length: ${4 * 1024 * MIB}`));
  expect(told(declared)).toEqual([413, 'TOO_LARGE']);
  expect(declared.head).toMatch(/^connection: close$/im);
  const lines = [type, 'content-encoding: identity, GZIP', `content-length: ${bomb.length}`];
  expect(told(await send(head(path, ...lines), bomb))).toEqual([400, 'INVALID_REQUEST']);
  const answer = await rawRequest(fixture.webhook.url, endless(head(path, type, CHUNKED)));
  expect(told(answer)).toEqual(endlessly);
});

test.each([
  ['both lengths, the other way round', [CHUNKED, 'content-length: 5'], '0\r\n\r\n'],
  ['two lengths', ['content-length: 2', 'content-length: 3'], '{}x'],
  ['a list of lengths', ['content-length: 2, 2'], '{}'],
  ['a signed length', ['content-length: +2'], '{}'],
  ['an overflowing length', ['content-length: 18446744073709551618'], '{}'],
  ['chunked not last', ['transfer-encoding: chunked, identity'], '0\r\n\r\n'],
  ['a space before the colon', ['transfer-encoding : chunked'], '0\r\n\r\n'],
  ['a folded header', ['x-a: b', ' c: d'], ''],
  ['NUL in a header', ['x-a: \0'], ''],
  ['a bare CR in a header', ['x-a: b\rx-c: d'], ''],
  ['no name', [': x'], ''],
])('%s is 400, and the request hidden behind it gets no response', async (_what, lines, body) => {
  const bytes = head('/v1/store', ...lines) + body + head('/v1/health', 'content-length: 0');
  const answer = await rawRequest(fixture.webhook.url, [Buffer.from(bytes, 'latin1')]);
  expect(told(answer)).toEqual([400, 'INVALID_REQUEST']);
  expect(answer.head).toMatch(/^connection: close$/im);
});

test('a malformed form, or one that repeats a field, is rejected', async () => {
  const post = (body: string, type = 'application/x-www-form-urlencoded') =>
    fixture.send({ method: 'POST', path: '/bind?setup_token=x', headers: { 'content-type': type }, body });
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
