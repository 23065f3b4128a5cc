import type { IncomingMessage, RequestListener } from 'node:http';
import { gzipSync } from 'node:zlib';
import { randomToken } from '@svault/shared';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Door } from './door.ts';
import { type PlainUpstream, startPlainUpstream } from './plain-upstream.ts';
import { type ProxiedService, startProxiedService } from './proxied-service.ts';
import { type ReadingOptions, open } from './reading.ts';

const credential = randomToken(24);
let service: ProxiedService;
let upstream: PlainUpstream;
let answer: RequestListener;
const doors: { direct?: Door; proxied?: Door } = {};
beforeAll(async () => {
  upstream = await startPlainUpstream((req, res) => answer(req, res));
  service = await startProxiedService();
  doors.direct = { url: upstream.url, bearer: credential };
  doors.proxied = await service.doorTo(upstream, credential);
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});

/** PROTOCOL.md 5.6: withheld, or ours on every answer; and what HTTP itself says of one connection. */
const NOT_COMPARED =
  /^(set-cookie2?|www-authenticate|proxy-authenticate|clear-site-data|strict-transport-security|content-security-policy.*|access-control-.*|alt-svc|location|content-location|link|refresh|report-to|nel|service-worker-allowed|x-accel-(?!buffering).*|x-sendfile|surrogate-control|.*-cache-control|sv-.*|x-content-type-options|cache-control|connection|keep-alive|transfer-encoding|trailer|date)$/;

/** Everything of an answer that the protocol lets through. */
async function whole(message: IncomingMessage): Promise<unknown> {
  const fields: [string, string][] = [];
  for (let at = 0; at < message.rawHeaders.length; at += 2) {
    const name = (message.rawHeaders[at] ?? '').toLowerCase();
    if (!NOT_COMPARED.test(name)) fields.push([name, message.rawHeaders[at + 1] ?? '']);
  }
  // RFC 9110 section 5.3: only lines of one name have an order.
  fields.sort(([one], [other]) => one.localeCompare(other));
  const body = Buffer.concat((await message.toArray()) as Buffer[]).toString('base64');
  return { status: message.statusCode, fields, body };
}

async function both(options?: ReadingOptions): Promise<{ direct: unknown; proxied: unknown }> {
  const { direct, proxied } = doors;
  if (direct === undefined || proxied === undefined) throw new Error('not started');
  return {
    direct: await whole(await open(direct, options)),
    proxied: await whole(await open(proxied, options)),
  };
}
async function expectSame(options?: ReadingOptions): Promise<void> {
  const { direct, proxied } = await both(options);
  expect(proxied).toEqual(direct);
}

describe('an upstream’s answer is as without the proxy', () => {
  test.each([
    200, 201, 202, 203, 204, 205, 206, 207, 226, 299, 300, 301, 302, 303, 304, 305, 307, 308, 399, 400, 402,
    403, 404, 405, 406, 408, 409, 410, 413, 415, 418, 421, 422, 425, 426, 428, 429, 431, 451, 499, 500, 501,
    502, 503, 504, 505, 507, 511, 599, 999,
  ])('with status %i', async (status) => {
    answer = (_req, res) => res.writeHead(status, { 'x-said': 'too', 'retry-after': '7' }).end('said');
    await expectSame();
  });

  // What looks like the webhook's word is the upstream's: no code of it is acted on.
  test.each([
    [409, 'REFRESH_NEEDED'],
    [404, 'NOT_FOUND'],
    [403, 'SIGNATURE_INVALID'],
    [429, 'RATE_LIMITED'],
    [503, 'UNAVAILABLE'],
  ])('with status %i and a body that says %s', async (status, code) => {
    let asked = 0;
    answer = (_req, res) => {
      asked += 1;
      const fields = { 'content-type': 'application/json', 'sv-proxy-origin': 'webhook', 'retry-after': '1' };
      res.writeHead(status, fields).end(JSON.stringify({ error: 'x', code, retryAfter: 1 }));
    };
    await expectSame({ method: 'POST', body: '{}' });
    expect(asked).toBe(2);
  });

  test('with all its fields, repeated ones in their order', async () => {
    answer = (_req, res) =>
      res
        .writeHead(200, [
          ...['X-B', '1', 'x-a', '2', 'X-B', '3', 'x-empty', '', 'x-latin', 'caf\u00e9', 'x-tab', 'a\tb'],
          ...['etag', '"e"', 'last-modified', 'Sat, 21 Nov 2026 00:00:00 GMT', 'vary', 'a', 'vary', 'b'],
          ...['link', '</x>', 'warning', '199 - "w"', 'x-long', 'y'.repeat(8_000)],
          ...['content-language', 'de', 'content-disposition', 'inline', 'age', '3', 'server', 's'],
        ])
        .end('body');
    await expectSame();
  });

  test.each([
    ['no body', (): Buffer => Buffer.alloc(0)],
    ['every byte', (): Buffer => Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))],
    ['a megabyte', (): Buffer => Buffer.alloc(1024 * 1024, 'z')],
  ])('of known length, with %s', async (_what, body) => {
    answer = (_req, res) => res.writeHead(200, { 'content-length': body().byteLength }).end(body());
    await expectSame();
  });

  test('compressed, where an upstream does that unasked', async () => {
    const packed = gzipSync('packed');
    answer = (_req, res) =>
      res.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'text/plain' }).end(packed);
    await expectSame();
  });

  test('with trailers, which stay behind', async () => {
    answer = (_req, res) => {
      res.writeHead(200, { trailer: 'x-checksum' }).write('body');
      res.addTrailers({ 'x-checksum': 'abc' });
      res.end();
    };
    await expectSame();
  });

  test.each([
    ['in chunks', { 'transfer-encoding': 'chunked' }],
    ['after leave to go on', { expect: '100-continue', 'content-length': '200000' }],
  ])('to a body that comes %s', async (_how, headers) => {
    answer = (req, res) => {
      let bytes = 0;
      req.on('data', (chunk: Buffer) => (bytes += chunk.byteLength));
      req.on('end', () => res.end(`${bytes} bytes`));
    };
    await expectSame({ method: 'POST', headers, body: Buffer.alloc(200_000, 'b') });
  });

  test.each(['GET', 'POST'] as const)('to %s: what it says it was asked', async (method) => {
    answer = (req, res) => {
      const chunks: Buffer[] = [];
      req.on('data', (chunk: Buffer) => chunks.push(chunk));
      req.on('end', () =>
        res.end(
          JSON.stringify([req.method, req.url, req.headers.host, Buffer.concat(chunks).toString('hex')]),
        ),
      );
    };
    await expectSame({ method, ...(method === 'POST' && { body: Buffer.from([0, 1, 2, 255, 13, 10]) }) });
  });
});
