import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, type RequestListener, createServer, request } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, createServer as createTcpServer } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { generate } from 'selfsigned';
import { expect, onTestFinished, test } from 'vitest';
import {
  type CertificateAuthority,
  createCertificateAuthority,
} from '../../src/commands/run/certificate-authority.ts';
import { coveredHosts } from '../../src/commands/run/covered-hosts.ts';
import { type LocalProxy, startLocalProxy } from '../../src/commands/run/local-proxy.ts';
import { type Tally, createTally } from '../../src/commands/run/tally.ts';
import { listeningPort } from '../fake-servers.ts';
import { ask, authorizationIn, connectTo, tlsThrough } from './through-proxy.ts';

// What travels, and what does not. A server of the test stands where the control plane is: run.test.ts has the real one.

const API = 'api.covered.test:443';
const ADDRESS = 'https://svault.example.com/api/proxy/http';
const authority: CertificateAuthority = await createCertificateAuthority(['api.covered.test']);
const { pem: ca } = authority;

interface Started {
  readonly proxy: LocalProxy;
  readonly tally: Tally;
}

/** It may take its time. */
type Listener = (...call: Parameters<RequestListener>) => void | Promise<void>;

async function started(
  controlPlane: Listener | number,
  { only = false, plain = '' }: { readonly only?: boolean; readonly plain?: string } = {},
): Promise<Started> {
  const port =
    typeof controlPlane === 'number' ? controlPlane : await serving((...call) => void controlPlane(...call));
  const usable = { address: ADDRESS, serviceName: 'github', key: 'mcp_key' };
  const hosts = coveredHosts([
    { ...usable, name: 'v3', upstreamUrl: 'https://api.covered.test/v3/' },
    { ...usable, name: 'raw', upstreamUrl: 'https://api.covered.test/v3/raw', key: 'mcp_raw' },
    ...(plain === '' ? [] : [{ ...usable, name: 'plain', upstreamUrl: plain }]),
  ]);
  const tally = createTally();
  const baseUrl = `http://127.0.0.1:${port}`;
  const proxy = await startLocalProxy({ hosts, authority, baseUrl, only, tally });
  onTestFinished(() => proxy.close());
  return { proxy, tally };
}

/** A request on a new connection to the covered host. */
const askCovered = async ({ proxy }: Started, ...[path, asked]: [string, Parameters<typeof ask>[2]?]) =>
  ask(await tlsThrough(proxy.url, API, { ca }), path, asked);

/** A request in absolute form, as programs send it for http:// addresses. */
async function askPlain(
  { proxy }: Started,
  url: string,
  headers = authorizationIn(proxy.url),
): Promise<IncomingMessage> {
  const { hostname, port } = new URL(proxy.url);
  const call = request({ host: hostname, port, path: url, headers: { host: new URL(url).host, ...headers } });
  call.end();
  const [answer] = (await once(call, 'response')) as [IncomingMessage];
  return answer;
}

const serving = (listener: RequestListener): Promise<number> => listeningPort(createServer(listener));

const jsonOf = async (answer: IncomingMessage): Promise<Record<string, unknown>> =>
  JSON.parse((await buffer(answer)).toString()) as Record<string, unknown>;

test('nothing but the password of the run lets a request or a CONNECT in', async () => {
  let asked = 0;
  const port = await serving((_, res) => {
    asked += 1;
    res.end();
  });
  const one = await started(port);
  const { proxy } = one;
  const wrong = [
    {},
    { 'proxy-authorization': 'Basic ' },
    { 'proxy-authorization': `Basic ${Buffer.from('svault:').toString('base64')}` },
    { 'proxy-authorization': authorizationIn(proxy.url)['proxy-authorization']?.slice(0, -1) ?? '' },
    { 'proxy-authorization': authorizationIn((await started(port)).proxy.url)['proxy-authorization'] ?? '' },
    { authorization: authorizationIn(proxy.url)['proxy-authorization'] ?? '' },
  ];
  for (const headers of wrong) {
    const plain = await askPlain(one, `http://127.0.0.1:${port}/`, headers);
    expect([plain.statusCode, plain.headers['proxy-authenticate']]).toEqual([
      407,
      'Basic realm="svault run"',
    ]);
    for (const place of [API, `127.0.0.1:${port}`, 'nowhere.invalid:443']) {
      const { status, answer } = await connectTo(proxy.url, place, headers);
      expect([status, answer.headers['proxy-authenticate']]).toEqual([407, 'Basic realm="svault run"']);
    }
  }
  expect(asked).toBe(0);
  expect((await askPlain(one, `http://127.0.0.1:${port}/`)).statusCode).toBe(200);
});

test('a request travels byte for byte, with the key of its proxy in place of what the program sent', async () => {
  const [sent, answered] = [randomBytes(3_000_000), randomBytes(3_000_000)];
  const seen: { req?: IncomingMessage; body?: Buffer } = {};
  const one = await started(async (req, res) => {
    Object.assign(seen, { req, body: await buffer(req) });
    res.writeHead(201, ['X-Twice', 'a', 'X-Twice', 'b', 'Content-Type', 'application/x']).end(answered);
  });
  const { answer, status } = await askCovered(one, "/v3/it's/%2f%20;a?q='%2F&&=", {
    method: 'PATCH',
    headers: {
      'X-Case': 'Kept',
      authorization: 'token placeholder',
      cookie: 'a=b',
      'x-mcp-key': 'mcp_own',
      'x-hop': '1',
      connection: 'x-hop',
      'content-encoding': 'gzip',
    },
    body: sent,
  });
  expect([status, answer.headersDistinct['x-twice'], answer.headers['content-type']]).toEqual([
    201,
    ['a', 'b'],
    'application/x',
  ]);
  expect((await buffer(answer)).equals(answered)).toBe(true);
  expect(seen.body?.equals(sent)).toBe(true);
  expect([seen.req?.method, seen.req?.url]).toEqual(['PATCH', "/api/proxy/http/it's/%2f%20;a?q='%2F&&="]);
  expect(seen.req?.rawHeaders).toContain('X-Case');
  expect(seen.req?.headers).toMatchObject({ authorization: 'Bearer mcp_key', 'content-encoding': 'gzip' });
  for (const name of ['cookie', 'x-mcp-key', 'x-hop', 'proxy-authorization'])
    expect(seen.req?.headers).not.toHaveProperty(name);
  expect(one.tally.lines()).toEqual(['1 request to api.covered.test with the credential github']);
});

test('a body of unknown length travels in chunks, and none where there is none', async () => {
  const framings: unknown[] = [];
  const one = await started(async (req, res) => {
    const { 'content-length': length, 'transfer-encoding': coding } = req.headers;
    framings.push([req.method, length, coding, (await buffer(req)).toString()]);
    res.end();
  });
  const socket = await tlsThrough(one.proxy.url, API, { ca });
  const call = request({
    createConnection: () => socket,
    path: '/v3',
    method: 'DELETE',
    headers: { 'transfer-encoding': 'chunked' },
  });
  call.write('one');
  call.end('two');
  await once(call, 'response');
  for (const method of ['GET', 'DELETE', 'POST']) await askCovered(one, '/v3', { method });
  expect(framings).toEqual([
    ['DELETE', undefined, 'chunked', 'onetwo'],
    ['GET', undefined, undefined, ''],
    ['DELETE', undefined, undefined, ''],
    ['POST', '0', undefined, ''],
  ]);
});

test('the answer to HEAD keeps its length, and one without a body has none', async () => {
  const one = await started((req, res) => {
    if (req.method === 'HEAD') res.writeHead(200, { 'content-length': 5_000_000, etag: '"a"' });
    else res.writeHead(304, { etag: '"a"' });
    res.end();
  });
  const head = await askCovered(one, '/v3/a', { method: 'HEAD' });
  expect([head.headers['content-length'], (await buffer(head.answer)).length]).toEqual(['5000000', 0]);
  const { status, headers, answer } = await askCovered(one, '/v3/a');
  expect([status, headers.etag, (await buffer(answer)).length]).toEqual([304, '"a"', 0]);
});

test('events arrive while the answer goes on, and the end of the client ends the call', async () => {
  let ended: Promise<unknown> | undefined;
  const one = await started((_, res) => {
    ended = once(res, 'close');
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
  });
  const { answer } = await askCovered(one, '/v3/events');
  const [event] = (await once(answer, 'data')) as [Buffer];
  expect(event.toString()).toBe('data: 1\n\n');
  answer.destroy();
  await ended;
});

test('an answer that nobody reads is not read from the control plane either', async () => {
  const piece = Buffer.alloc(64 * 1024);
  let written = 0;
  const one = await started(async (_, res) => {
    res.writeHead(200);
    for (res.on('close', () => res.emit('drain')); !res.destroyed; written += piece.length)
      if (!res.write(piece)) await once(res, 'drain');
  });
  const { answer } = await askCovered(one, '/v3/much');
  answer.pause();
  await expect.poll(() => written).toBeGreaterThan(0);
  let before = -1;
  await expect
    .poll(() => [before, (before = written)].every((each) => each === written), { interval: 300 })
    .toBe(true);
  expect(written).toBeLessThan(100_000_000);
});

test('an answer that breaks off breaks off', async () => {
  const one = await started((_, res) => {
    res.writeHead(200, { 'content-length': 100 }).write('some', () => res.destroy());
  });
  const { answer } = await askCovered(one, '/v3/some');
  await expect(buffer(answer)).rejects.toThrow(/aborted/);
});

test('what is not below a base is denied here, and the longest base wins', async () => {
  const keys: unknown[] = [];
  const one = await started((req, res) => {
    keys.push([req.url, req.headers.authorization]);
    res.end();
  });
  for (const path of ['/', '/v2', '/v3x', '/v3x/a', '/v3;a', '/V3/a', '/v/3', '*']) {
    const { status, answer } = await askCovered(one, path, path === '*' ? { method: 'OPTIONS' } : {});
    const { code, error } = await jsonOf(answer);
    expect([path, status, code]).toEqual([path, 403, 'PATH_NOT_COVERED']);
    expect(error).toContain('https://api.covered.test/v3');
  }
  for (const path of ['/v3', '/v3?a', '/v3/', '/v3/raw/a', '/v3/raw', '/v3/rawer'])
    await askCovered(one, path);
  expect(keys).toEqual([
    ['/api/proxy/http', 'Bearer mcp_key'],
    ['/api/proxy/http?a', 'Bearer mcp_key'],
    ['/api/proxy/http/', 'Bearer mcp_key'],
    ['/api/proxy/http/a', 'Bearer mcp_raw'],
    ['/api/proxy/http', 'Bearer mcp_raw'],
    ['/api/proxy/http/rawer', 'Bearer mcp_key'],
  ]);
  expect(one.tally.lines()).toContain(
    '8 requests to api.covered.test refused: not below the base of a proxy',
  );
});

test('an upgrade is refused, and h2c is passed over', async () => {
  const one = await started((_, res) => void res.end('plain'));
  const { answer, status } = await askCovered(one, '/v3/ws', {
    headers: { connection: 'upgrade', upgrade: 'websocket' },
  });
  expect([status, (await jsonOf(answer))['code']]).toEqual([501, 'UPGRADE_NOT_SUPPORTED']);
  const h2c = await askCovered(one, '/v3', { headers: { connection: 'upgrade', upgrade: 'h2c' } });
  expect((await buffer(h2c.answer)).toString()).toBe('plain');
});

test('addresses of the proxy in an answer are those of the API for the program', async () => {
  const one = await started((_, res) => {
    res.writeHead(302, {
      location: `${ADDRESS}/moved?to=1`,
      link: `<${ADDRESS}/a?page=2>; rel="next", <${ADDRESS}/a?page=9>; rel="last"`,
      'x-other': ADDRESS,
    });
    res.end();
  });
  expect((await askCovered(one, '/v3/a')).headers).toMatchObject({
    location: 'https://api.covered.test/v3/moved?to=1',
    link: '<https://api.covered.test/v3/a?page=2>; rel="next", <https://api.covered.test/v3/a?page=9>; rel="last"',
    'x-other': ADDRESS,
  });
});

test('a denial by svault is counted by its code, and what an API says is not', async () => {
  const one = await started((req, res) => {
    const requestId = req.url?.endsWith('/own') ? 'req_1' : 'req_guessed';
    res.writeHead(403, { 'content-type': 'application/json', 'x-request-id': 'req_1' });
    res.end(JSON.stringify({ error: 'no', code: 'POLICY_DENIED', requestId }));
  });
  for (const path of ['/v3/own', '/v3/other']) await buffer((await askCovered(one, path)).answer);
  expect(one.tally.lines()).toEqual([
    '2 requests to api.covered.test with the credential github',
    '1 request to api.covered.test refused: POLICY_DENIED (svault explain POLICY_DENIED)',
  ]);
});

test('502 says that the control plane cannot be reached, to a request with a body too', async () => {
  const closed = createTcpServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as { port: number };
  closed.close();
  const one = await started(port);
  for (const asked of [{}, { method: 'POST', body: randomBytes(100_000) }]) {
    const { status, answer } = await askCovered(one, '/v3/a', asked);
    expect([status, (await jsonOf(answer))['code']]).toEqual([502, 'CONTROL_PLANE_UNREACHABLE']);
  }
});

test('a request on a connection that the control plane has just closed is sent once more', async () => {
  let connections = 0;
  const server = createTcpServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      socket.once('data', () => socket.resetAndDestroy());
    });
  });
  const one = await started(await listeningPort(server));
  for (const path of ['/v3/a', '/v3/b'])
    expect((await buffer((await askCovered(one, path)).answer)).toString()).toBe('ok');
  expect(connections).toBe(2);
});

test('the covered host speaks HTTP/1.1 alone, with a certificate of the run', async () => {
  const { proxy } = await started((_, res) => void res.end());
  const socket = await tlsThrough(proxy.url, API, { ca, ALPNProtocols: ['h2', 'http/1.1'] });
  expect([socket.alpnProtocol, socket.getPeerCertificate().subjectaltname]).toEqual([
    'http/1.1',
    'DNS:api.covered.test',
  ]);
  const { private: _key, cert } = await generate([{ name: 'commonName', value: 'other' }]);
  await expect(tlsThrough(proxy.url, API, { ca: cert })).rejects.toThrow(/verify|issuer|self/);
});

test('another host is reached end to end: its own certificate, and bytes as they are', async () => {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'outside' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  });
  const outside = createTlsServer({ key, cert }, (_, res) => void res.end('outside'));
  const port = await listeningPort(outside);
  const one = await started((_, res) => void res.end());
  const place = `127.0.0.1:${port}`;
  const secure = await tlsThrough(one.proxy.url, place, { ca: cert });
  expect((await buffer((await ask(secure, '/')).answer)).toString()).toBe('outside');
  await expect(tlsThrough(one.proxy.url, place, { ca })).rejects.toThrow(/self-signed/);
  expect(one.tally.lines()).toEqual(['2 connections straight to 127.0.0.1']);
});

test('a tunnel carries either direction to its end, whichever ends first', async () => {
  const bytes = randomBytes(2_000_000);
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => void socket.pipe(socket));
  const port = await listeningPort(server);
  const { proxy } = await started((_, res) => void res.end());
  const { socket } = await connectTo(proxy.url, `127.0.0.1:${port}`);
  const echoed = buffer(socket);
  socket.end(bytes);
  expect((await echoed).equals(bytes)).toBe(true);
});

test('http:// goes straight too, and to a covered base through the control plane, by CONNECT as well', async () => {
  const seen: unknown[] = [];
  const outside = await serving((req, res) => {
    seen.push([req.url, req.headers.authorization, req.headers['proxy-authorization']]);
    res.end('straight');
  });
  const one = await started((req, res) => void res.end(`covered ${req.url}`), {
    plain: 'http://plain.covered.test:8080/base',
  });
  const headers = { ...authorizationIn(one.proxy.url), authorization: 'own' };
  const answer = await askPlain(one, `http://127.0.0.1:${outside}/a?b='`, headers);
  expect((await buffer(answer)).toString()).toBe('straight');
  expect(seen).toEqual([["/a?b='", 'own', undefined]]);
  const covered = await askPlain(one, 'http://plain.covered.test:8080/base/x?y');
  expect((await buffer(covered)).toString()).toBe('covered /api/proxy/http/x?y');
  const { socket } = await connectTo(one.proxy.url, 'plain.covered.test:8080');
  const tunnelled = await ask(socket, '/base/z');
  expect((await buffer(tunnelled.answer)).toString()).toBe('covered /api/proxy/http/z');
});

test('it connects no one to itself', async () => {
  const one = await started((_, res) => void res.end());
  const { port } = new URL(one.proxy.url);
  for (const host of ['127.0.0.1', 'localhost', '0.0.0.0', '2130706433'])
    expect([host, (await connectTo(one.proxy.url, `${host}:${port}`)).status]).toEqual([host, 403]);
  const answer = await askPlain(one, `http://127.0.0.1:${port}/`);
  expect([answer.statusCode, (await jsonOf(answer))['code']]).toEqual([403, 'LOOP']);
});

test('with --only no other host is connected', async () => {
  let connected = 0;
  const port = await serving((_, res) => {
    connected += 1;
    res.end();
  });
  const one = await started((_, res) => void res.end('covered'), { only: true });
  expect((await connectTo(one.proxy.url, `127.0.0.1:${port}`)).status).toBe(403);
  const answer = await askPlain(one, `http://127.0.0.1:${port}/`);
  expect([answer.statusCode, (await jsonOf(answer))['code']]).toEqual([403, 'HOST_NOT_COVERED']);
  expect((await askCovered(one, '/v3')).status).toBe(200);
  expect([connected, one.tally.lines()[1]]).toEqual([
    0,
    '2 requests to 127.0.0.1 refused: no proxy covers it',
  ]);
});

test('a host that cannot be reached is a 502', async () => {
  const one = await started((_, res) => void res.end());
  expect((await connectTo(one.proxy.url, 'nowhere.invalid:443')).status).toBe(502);
  const answer = await askPlain(one, 'http://nowhere.invalid/');
  expect([answer.statusCode, (await jsonOf(answer))['code']]).toEqual([502, 'HOST_UNREACHABLE']);
});

test.each(['', 'no port', 'a:1/b', 'u@a:1', 'a:99999', 'a\\b:1', ':1'])(
  'CONNECT %j is no host and port',
  async (place) => {
    const { proxy } = await started((_, res) => void res.end());
    const { port, hostname } = new URL(proxy.url);
    const socket = connect(Number(port), hostname);
    const { 'proxy-authorization': password = '' } = authorizationIn(proxy.url);
    socket.write(`CONNECT ${place} HTTP/1.1\r\nProxy-Authorization: ${password}\r\n\r\n`);
    const [head] = (await once(socket, 'data')) as [Buffer];
    expect(head.toString()).toMatch(/^HTTP\/1.1 400 /);
    socket.destroy();
  },
);

test('a header block above 48 KiB is refused with 431, and one below it travels', async () => {
  const server = createServer({ maxHeaderSize: 64 * 1024 }, (_, res) => void res.end());
  const one = await started(await listeningPort(server));
  for (const [bytes, expected] of [
    [40_000, 200],
    [50_000, 431],
  ] as const) {
    const { status } = await askCovered(one, '/v3', { headers: { 'x-long': 'a'.repeat(bytes) } });
    expect([bytes, status]).toEqual([bytes, expected]);
  }
});

test('a client that reads nothing until it has sent its whole body is answered all the same', async () => {
  // It answers, and reads no more.
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
    socket
      .on('error', () => undefined)
      .once('data', () => {
        socket.pause();
        socket.end('HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
      });
    onTestFinished(() => void socket.destroy());
  });
  const one = await started(await listeningPort(server));
  const body = Buffer.alloc(30_000_000);
  for (const [path, status] of [
    ['/v3/a', 413],
    ['/v2', 403],
  ] as const) {
    const socket = await tlsThrough(one.proxy.url, API, { ca });
    socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`);
    await new Promise((resolve) => void socket.write(body, resolve));
    const [head] = (await once(socket, 'data')) as [Buffer];
    expect(head.toString()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  }
});

test('a request for an https:// address without CONNECT is served for covered hosts, and refused for others', async () => {
  const one = await started((req, res) => void res.end(`${req.url} ${req.headers.authorization}`));
  const covered = await askPlain(one, 'https://api.covered.test/v3/a?b');
  expect((await buffer(covered)).toString()).toBe('/api/proxy/http/a?b Bearer mcp_key');
  for (const url of ['https://other.test/', 'https://api.covered.test:80/v3']) {
    const answer = await askPlain(one, url);
    expect([answer.statusCode, (await jsonOf(answer))['code']]).toEqual([400, 'TUNNEL_REQUIRED']);
  }
  expect(one.tally.lines()[1]).toBe('1 request to other.test refused: an https:// address without CONNECT');
  expect((await askPlain(one, 'https://api.covered.test/v3/a', {})).statusCode).toBe(407);
});

test.each([
  ['a CONNECT without the password', false, `CONNECT ${API} HTTP/1.1\r\n\r\n`],
  ['what is no HTTP', false, 'no HTTP\r\n\r\n'],
  ['what is no TLS, to a covered host', true, 'no TLS\r\n\r\n'],
])('%s ends the connection, though the client holds it open', async (_, isAuthorized, text) => {
  const { proxy } = await started((_, res) => void res.end());
  const { port, hostname } = new URL(proxy.url);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  socket.on('error', () => undefined);
  if (isAuthorized) {
    const { 'proxy-authorization': password = '' } = authorizationIn(proxy.url);
    socket.write(`CONNECT ${API} HTTP/1.1\r\nProxy-Authorization: ${password}\r\n\r\n`);
    await once(socket, 'data');
  }
  socket.resume().write(text);
  await once(socket, 'end');
  const isClosed = (): boolean => {
    if (!socket.destroyed) socket.write('x');
    return socket.destroyed;
  };
  await expect.poll(isClosed, { timeout: 10_000 }).toBe(true);
});

test('a program may leave at any time, also while its host is being connected', async () => {
  const port = await serving((_, res) => void res.end('straight'));
  const one = await started((_, res) => void res.end());
  const { port: own, hostname } = new URL(one.proxy.url);
  const { 'proxy-authorization': password = '' } = authorizationIn(one.proxy.url);
  const head = `GET http://localhost:${port}/ HTTP/1.1\r\nHost: a\r\nProxy-Authorization: ${password}\r\n\r\n`;
  const leave = async (): Promise<void> => {
    const socket = connect(Number(own), hostname);
    await new Promise((resolve) => void socket.write(head, resolve));
    socket.resetAndDestroy();
  };
  await Promise.all(Array.from({ length: 60 }, leave));
  expect((await buffer(await askPlain(one, `http://localhost:${port}/`))).toString()).toBe('straight');
});

test('connections without the password take no place of those with it', async () => {
  const one = await started((_, res) => void res.end('covered'));
  const { port, hostname } = new URL(one.proxy.url);
  const before = await tlsThrough(one.proxy.url, API, { ca });
  const strangers = Array.from({ length: 600 }, () => connect(Number(port), hostname));
  for (const socket of strangers) {
    socket.on('error', () => undefined).resume();
    onTestFinished(() => void socket.destroy());
  }
  await expect.poll(() => strangers.filter(({ destroyed }) => destroyed).length).toBe(500);
  expect((await ask(before, '/v3')).status).toBe(200);
  expect((await askCovered(one, '/v3')).status).toBe(200);
});

test('a request in origin form is none for a proxy', async () => {
  const { proxy } = await started((_, res) => void res.end());
  const { hostname, port } = new URL(proxy.url);
  const call = request({ host: hostname, port, path: '/a', headers: authorizationIn(proxy.url) }).end();
  const [answer] = (await once(call, 'response')) as [IncomingMessage];
  expect(answer.statusCode).toBe(400);
});

test('its end breaks off what is under way, and nothing listens any more', async () => {
  const one = await started((_, res) => void res.write('begun'));
  const { answer } = await askCovered(one, '/v3');
  const [[error]] = await Promise.all([once(answer, 'error'), one.proxy.close()]);
  expect(String(error)).toMatch(/aborted/);
  await expect(connectTo(one.proxy.url, API)).rejects.toThrow(/ECONNREFUSED/);
});
