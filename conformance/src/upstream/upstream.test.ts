import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { createServer, request as httpRequest } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { NotTestable } from '../check/outcome.ts';
import { startUpstream, type Upstream } from './upstream.ts';

const LOOPBACK = { host: '127.0.0.1', port: 0 };
let upstream: Upstream | undefined;

afterEach(async () => {
  await upstream?.close();
  upstream = undefined;
});

const started = async (publicUrl?: string): Promise<Upstream> =>
  (upstream = await startUpstream({ ...LOOPBACK, ...(publicUrl !== undefined && { publicUrl }) }));

describe('an endpoint of the upstream', () => {
  test('records the calls that it gets: method, the rest of the path, headers, body', async () => {
    const place = (await started()).open();
    const body = Buffer.from([0, 255, 13, 10]);
    const answer = await fetch(`${place.url}/a/b?c=%20`, {
      method: 'DELETE',
      headers: { 'X-Mixed': 'one' },
      body,
    });
    expect([answer.status, await answer.text()]).toEqual([200, '{"ok":true}']);
    const [call] = place.calls;
    expect([call?.method, call?.rest]).toEqual(['DELETE', '/a/b?c=%20']);
    expect(call?.headers).toContainEqual(['x-mixed', 'one']);
    expect(body.equals(call?.body ?? new Uint8Array())).toBe(true);
  });

  test('is one of many, each with its own response', async () => {
    const { open } = await started();
    const [one, other] = [open(), open((response) => response.writeHead(418).end())];
    expect((await fetch(other.url)).status).toBe(418);
    expect([one.calls.length, other.calls.length]).toEqual([0, 1]);
  });

  test('is found behind any path of a public address, kept or stripped', async () => {
    const { open, allowedHost, direct } = await started('https://tunnel.example/some/path/');
    const place = open();
    expect(place.url).toMatch(/^https:\/\/tunnel\.example\/some\/path\/[A-Za-z0-9_-]{22}$/);
    expect([allowedHost, direct]).toEqual(['tunnel.example', false]);
  });

  test.each(['', '/some/path', '/another'])('is called at its own port under %j', async (prefix) => {
    const { open } = await started();
    const place = open();
    const { origin, pathname } = new URL(place.url);
    await fetch(`${origin}${prefix}${pathname}/x`);
    expect(place.calls.map(({ rest }) => rest)).toEqual(['/x']);
  });
});

describe('the suite continues after', () => {
  test.each([
    'GET / HTTP/1.1\r\nbroken',
    'SSH-2.0-x\r\n',
    '\u0016\u0003\u0001 a hello of TLS',
    'CONNECT a:1 HTTP/1.1\r\n\r\n',
  ])('bytes like %j', async (bytes) => {
    const { open } = await started();
    const place = open();
    const socket = connect(Number(new URL(place.url).port), '127.0.0.1').on('error', () => undefined);
    socket.end(bytes);
    await once(socket.resume(), 'close');
    expect((await fetch(place.url)).status).toBe(200);
  });

  test('a body without end is cut off', async () => {
    const place = (await started()).open();
    const call = httpRequest(place.url, { method: 'POST' });
    const piece = Buffer.alloc(1024 * 1024);
    const more = (): void => {
      while (!call.destroyed && call.write(piece));
    };
    call.on('drain', more);
    more();
    await new Promise((resolve) => call.on('error', resolve));
    expect(place.calls).toEqual([]);
  });

  test('a caller that disconnects during the response', async () => {
    const { open } = await started();
    const closed = Promise.withResolvers<void>();
    const place = open((response) => {
      response.on('close', () => closed.resolve());
      response.writeHead(200).write('a piece');
    });
    const gone = new AbortController();
    await fetch(place.url, { signal: gone.signal });
    gone.abort();
    await closed.promise;
    expect((await fetch(open().url)).status).toBe(200);
  });

  test('a response that throws', async () => {
    const { open } = await started();
    const place = open(() => Promise.reject(new Error('no')));
    await expect(fetch(place.url)).rejects.toThrow();
    expect((await fetch(open().url)).status).toBe(200);
  });

  test('more calls than are recorded', async () => {
    const place = (await started()).open();
    for (let at = 0; at < 210; at++)
      await fetch(place.url).then(
        (answer) => answer.text(),
        () => undefined,
      );
    expect(place.calls.length).toBe(200);
  });
});

test('input that is not HTTP is counted, and an interrupted call is not', async () => {
  const server = await started();
  const port = Number(new URL(server.open().url).port);
  for (const bytes of ['POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nx', 'no HTTP at all\r\n\r\n']) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.end(bytes);
    await once(socket.resume(), 'close');
  }
  expect(server.malformed).toEqual([expect.stringMatching(/^HPE_/)]);
});

test('it closes at once, with responses in progress', async () => {
  const server = await startUpstream(LOOPBACK);
  const place = server.open((response) => response.writeHead(200).write('on and on'));
  const answer = await fetch(place.url);
  await server.close();
  await expect(answer.text()).rejects.toThrow();
});

test('a taken port is reported as such', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  await expect(startUpstream({ host: '127.0.0.1', port })).rejects.toThrow(NotTestable);
  await expect(startUpstream({ host: '127.0.0.1', port })).rejects.toThrow(/--upstream-listen/);
  other.close();
});
