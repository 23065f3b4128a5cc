import { once } from 'node:events';
import { connect } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type PlainUpstream, startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { HTTP_PROXY, type HttpProxy, httpProxyOn } from '../support/http-proxy-steps.ts';
import { storeOn } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';

// Raw bytes on an agent's connection, and what reaches the upstream over both hops.

const SECRET = 'canary-of-hostile-agents-0123456789';

let service: PairedService;
let upstream: PlainUpstream;
let api: HttpProxy;
let seen: { method: string; url: string; headers: Record<string, unknown>; body: string }[];

beforeAll(async () => {
  upstream = await startPlainUpstream(async (req, res) => {
    const { method = '', url = '', headers } = req;
    seen.push({ method, url, headers, body: (await buffer(req)).toString('latin1') });
    res.writeHead(200).end('ok');
  });
  service = await startPairedService({});
  const record = { tokenType: 'PlainText', value: SECRET, allowedHosts: [upstream.origin] };
  await storeOn(service.pair, 'github', record);
  const owner = { running: { url: service.pair.controlPlaneUrl() }, admin: service.admin };
  api = await httpProxyOn(owner, { upstreamUrl: `${upstream.origin}/v3` });
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});
beforeEach(() => {
  service.clock.advance(60_000);
  seen = [];
});

/** Sends the lines of a head, then a body. @returns everything received until the connection closes */
async function send(
  lines: readonly string[],
  { body = '', start = `POST ${HTTP_PROXY}/x HTTP/1.1` } = {},
): Promise<string> {
  const { hostname, port, host } = new URL(service.pair.controlPlaneUrl());
  const socket = connect(Number(port), hostname).setEncoding('latin1');
  await once(socket, 'connect');
  const own = [`Host: ${host}`, `X-Mcp-Key: ${api.key}`, 'Connection: close'];
  socket.write([start, ...own, ...lines, '', body].join('\r\n'), 'latin1');
  return text(socket);
}
const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 ([0-9]{3})/.exec(answer)?.[1]);

describe('a field of the agent reaches the upstream and does not break the signed call', () => {
  it.each<[string, readonly string[], Record<string, unknown>]>([
    ['with a name of every legal character', ["!#$%&'*+.^_`|~-9aZ: v"], { "!#$%&'*+.^_`|~-9az": 'v' }],
    [
      'named as a member of every object',
      ['Constructor: 1', '__proto__: 2', 'toString: 3'],
      { constructor: '1', tostring: '3' },
    ],
    ['with tabs, quotes and a backslash', ['X-A: \t "a\\"\tb, \t '], { 'x-a': '"a\\"\tb,' }],
    ['without a value, on several lines', ['X-A:', 'X-A: a', 'X-A:', 'X-B:'], { 'x-a': ', a,', 'x-b': '' }],
    ['in thousands', Array.from({ length: 900 }, (_, at) => `${at.toString(36)}:`), { a: '', oz: '' }],
  ])('%s', async (_how, lines, expected) => {
    expect(statusOf(await send(lines))).toBe(200);
    expect(seen).toHaveLength(1);
    for (const [name, value] of Object.entries(expected))
      expect([name, seen[0]?.headers[name]]).toEqual([name, value]);
  });

  it.each([
    ['Connection: authorization, sv-target, content-type, x-a', 'X-A: 1', 'Content-Type: a/b'],
    ['Upgrade: websocket', 'Sec-WebSocket-Key: x', 'Connection: upgrade'],
    ['Upgrade: h2c', 'HTTP2-Settings: x', 'Connection: Upgrade, HTTP2-Settings'],
    ['Expect: 100-continue'],
    ['TE: trailers', 'Trailer: authorization'],
  ])('except one of its connection alone, or in place of the credential: %s', async (...lines) => {
    const answer = await send([...lines, 'Content-Length: 2'], { body: 'hi' });
    expect(answer).toMatch(/HTTP\/1\.1 200 OK\r\n/);
    expect(seen).toMatchObject([{ method: 'POST', url: '/v3/x', body: 'hi' }]);
    const { headers } = seen[0] ?? {};
    expect(headers).toMatchObject({ authorization: `Bearer ${SECRET}`, connection: 'keep-alive' });
    for (const name of ['upgrade', 'te', 'trailer', 'expect', 'x-a', 'http2-settings', 'sec-websocket-key'])
      expect(headers).not.toHaveProperty(name);
  });
});

describe('a request with ambiguous framing reaches no upstream', () => {
  it.each([
    [['Content-Length: 2', 'Content-Length: 3']],
    [['Content-Length: 2', 'Transfer-Encoding: chunked']],
    [['Transfer-Encoding: chunked, identity']],
    [['Transfer-Encoding: xchunked']],
    [['Transfer-Encoding : chunked']],
    [['Content-Length: +2']],
    [['Content-Length: 2,2']],
    [['X-A: a\n\tContent-Length: 2']],
    [['X-A: a\rB: c']],
    [['X-A: a\0b']],
    [['X A: b']],
  ])('%j', async (lines) => {
    const answer = await send(lines, { body: '2\r\nhi\r\n0\r\n\r\n' });
    expect([statusOf(answer), seen]).toEqual([400, []]);
  });

  it('and a body that looks like a second request stays a body', async () => {
    const { host } = new URL(service.pair.controlPlaneUrl());
    const inner = `DELETE ${HTTP_PROXY}/inner HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    await send([`Content-Length: ${inner.length}`], {
      body: inner,
      start: `GET ${HTTP_PROXY}/outer HTTP/1.1`,
    });
    expect(seen).toMatchObject([{ method: 'GET', url: '/v3/outer', body: inner }]);
  });
});

describe('a malformed or noncanonical request line reaches no upstream', () => {
  it.each([
    [`get ${HTTP_PROXY}/x HTTP/1.1`, 400],
    [`TRACK ${HTTP_PROXY}/x HTTP/1.1`, 400],
    [`TRACE ${HTTP_PROXY}/x HTTP/1.1`, 405],
    [`GET http://elsewhere.example${HTTP_PROXY}/x HTTP/1.1`, 404],
    [`GET ${HTTP_PROXY}/x#/../y HTTP/1.1`, 403],
    [`GET ${HTTP_PROXY}/\xe4 HTTP/1.1`, 400],
    [`GET ${HTTP_PROXY}/a\tb HTTP/1.1`, 400],
    [`GET ${HTTP_PROXY}/..%3Fx HTTP/1.1`, 403],
    [`GET ${HTTP_PROXY.toUpperCase()}/x HTTP/1.1`, 404],
    [`GET ${HTTP_PROXY}%2Fx HTTP/1.1`, 404],
  ])('%j', async (start, status) => {
    expect([statusOf(await send([], { start })), seen]).toEqual([status, []]);
  });
});
