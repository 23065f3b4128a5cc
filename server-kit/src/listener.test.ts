import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import express from 'express';
import { AppError } from '@svault/shared';
import { afterEach, describe, expect, it } from 'vitest';
import { errorHandler } from './error-handler.ts';
import { type Listener, listen } from './listener.ts';
import { silentLogger } from './logger.ts';
import { type BodyBounds, readBody } from './raw-body.ts';
import { methodNotAllowed, only, route } from './request-handler.ts';

const statusOf = {
  BAD_REQUEST: 400,
  INVALID_REQUEST: 400,
  METHOD_NOT_ALLOWED: 405,
  TOO_LARGE: 413,
  RATE_LIMITED: 429,
  INTERNAL: 500,
  UNAVAILABLE: 503,
} as const;

let listener: Listener | undefined;
afterEach(() => listener?.close(0));

async function start(
  timeouts: { headersTimeoutMs?: number; requestTimeoutMs?: number } = {},
): Promise<string> {
  const app = express().disable('x-powered-by');
  app.all('/echo', only(['POST']));
  app.post(
    '/echo',
    route(async (req, res) => void res.end(String((await readBody(req, { maxBytes: 1000 })).length))),
  );
  app.get('/limited', () => {
    throw new AppError('RATE_LIMITED', 'slow down', { details: { retryAfter: 7 } });
  });
  app.get('/uniform', () => {
    throw new AppError('BAD_REQUEST', 'no');
  });
  app.get('/broken', () => {
    throw new Error('with a secret inside');
  });
  app.get('/item/:id', (_req, res) => void res.end());
  app.all('/limited', methodNotAllowed(['GET']));
  app.use(
    errorHandler({
      ...{ statusOf, storageFailure: 'UNAVAILABLE', internal: 'INTERNAL', logger: silentLogger },
      uniform: ['BAD_REQUEST'],
    }),
  );
  listener = await listen(app, { host: '127.0.0.1', port: 0, ...timeouts });
  return listener.url;
}

/** Sends raw bytes and gives all that comes back until the server closes. */
async function raw(url: string, ...chunks: (string | Buffer)[]): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  for (const chunk of chunks) socket.write(chunk);
  const received: Buffer[] = [];
  for await (const chunk of socket) received.push(chunk as Buffer);
  return Buffer.concat(received).toString('latin1');
}

const hasRead = (server: Socket, bytes: number): Promise<void> =>
  expect.poll(() => server.bytesRead, { interval: 1, timeout: 20_000 }).toBe(bytes);

it('listen names an address that is taken, and the setting to change', async () => {
  const { port } = new URL(await start());
  await expect(
    listen(express(), { host: '127.0.0.1', port: Number(port), setting: 'SV_A_LISTEN' }),
  ).rejects.toThrow(`SV_A_LISTEN: 127.0.0.1:${port} is taken by another program: stop it`);
});

it('a server that is blocked keeps 1,000 new connections', async () => {
  const { port } = new URL(await start());
  const connecting = `
    const { connect } = require('node:net');
    let connected = 0;
    for (let n = 0; n < 1000; n += 1)
      connect(${port}, '127.0.0.1', () => ++connected === 1000 && process.exit());`;
  // This process waits for the other one, and reads nothing. Whom the queue does not take waits for ever.
  execFileSync(process.execPath, ['-e', connecting], { timeout: 30_000 });
});

describe('the error handler', () => {
  it('responds to an AppError with its status, Retry-After and details', async () => {
    const res = await fetch(`${await start()}/limited`);
    expect([res.status, res.headers.get('retry-after')]).toEqual([429, '7']);
    const requestId = res.headers.get('x-request-id');
    expect(await res.json()).toEqual({ error: 'slow down', code: 'RATE_LIMITED', retryAfter: 7, requestId });
  });

  it('gives each request an id of its own, whatever id the caller sends', async () => {
    const url = await start();
    const ids = await Promise.all(
      [{}, { 'x-request-id': 'req_theirs' }, { 'x-request-id': 'req_theirs' }].map(
        async (headers) => (await fetch(`${url}/limited`, { headers })).headers.get('x-request-id') ?? '',
      ),
    );
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^req_[\w-]{22}$/);
  });

  it('leaves the id out of a body that is the same for every request', async () => {
    const res = await fetch(`${await start()}/uniform`);
    expect(await res.json()).toEqual({ error: 'no', code: 'BAD_REQUEST' });
    expect(res.headers.get('x-request-id')).toMatch(/^req_/);
  });

  it('responds to an unknown error with a fixed 500 and a request id', async () => {
    const res = await fetch(`${await start()}/broken`);
    const body = await res.text();
    expect(res.status).toBe(500);
    expect(body).not.toContain('secret');
    expect(JSON.parse(body)).toMatchObject({ code: 'INTERNAL', requestId: expect.any(String) });
  });

  it('names the allowed methods in a 405, to HEAD too', async () => {
    const url = await start();
    for (const method of ['GET', 'HEAD', 'PUT', 'OPTIONS']) {
      const res = await fetch(`${url}/echo`, { method });
      expect([res.status, res.headers.get('allow')]).toEqual([405, 'POST']);
    }
  });

  it('answers 400 to a broken percent-encoding in a path', async () => {
    expect((await fetch(`${await start()}/item/%E0%A4%A`)).status).toBe(400);
  });
});

describe('readBody', () => {
  const post = (url: string, body: string, headers: Record<string, string> = {}) =>
    fetch(`${url}/echo`, { method: 'POST', body, headers });

  it('accepts a body of the maximum and rejects one byte more, with and without a length', async () => {
    const url = await start();
    expect(await (await post(url, 'x'.repeat(1000))).text()).toBe('1000');
    expect((await post(url, 'x'.repeat(1001))).status).toBe(413);
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(Buffer.alloc(100_000)) });
    const res = await fetch(`${url}/echo`, { method: 'POST', body: endless, duplex: 'half' });
    expect([res.status, res.headers.get('connection')]).toEqual([413, 'close']);
  });

  const inPieces = (head: string, pieces: readonly string[]): string =>
    `${head}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${pieces.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`).join('')}0\r\n\r\n`;

  /** Posts these pieces to a server that reads them under bounds. @returns all that comes back */
  const readBy = async (bounds: BodyBounds, pieces: readonly string[]): Promise<string> => {
    listener = await listen(
      (req, res) =>
        void readBody(req, bounds).then(
          (body) => res.end(`read ${body.toString('hex', 0, 4_000)} of ${body.length}`),
          ({ code }: AppError) => res.writeHead(400, { connection: 'close' }).end(code),
        ),
      { host: '127.0.0.1', port: 0 },
    );
    const answer = await raw(listener.url, inPieces('POST / HTTP/1.1\r\nHost: a', pieces));
    await listener.close(0);
    return answer;
  };
  const equalPieces = (bytes: number, piece: number): string[] =>
    Array.from({ length: bytes / piece }, () => 'x'.repeat(piece));

  it('reads a body in the order of its chunks, whatever their size', async () => {
    const pieces = Array.from({ length: 60 }, (_, n) => `${n} `.repeat(1 + (n % 40)));
    const hex = Buffer.from(pieces.join('')).toString('hex', 0, 4_000);
    expect(await readBy({ maxBytes: 100_000 }, pieces)).toContain(`read ${hex} of`);
  });

  it('accepts a large body in the chunks of any network, and rejects one of tiny chunks, which cost a hundred times their bytes', async () => {
    const known = { maxBytes: 8 * 1024 * 1024, sender: 'known' } as const;
    // The least that a network of IPv4 may carry at once is 576 bytes.
    expect(await readBy(known, equalPieces(8 * 1024 * 1024, 512))).toContain('of 8388608');
    expect(await readBy(known, equalPieces(1024 * 1024, 64))).toContain('INVALID_REQUEST');
    expect(await readBy({ maxBytes: 100_000 }, equalPieces(8_000, 1))).toContain('of 8000');
    expect(await readBy({ maxBytes: 100_000 }, equalPieces(9_000, 1))).toContain('INVALID_REQUEST');
  });

  it('lets a client that is still sending read the response', async () => {
    const url = await start();
    const head = 'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n';
    for (let n = 0; n < 10; n++)
      expect(await raw(url, head, Buffer.alloc(8_000_000))).toMatch(/^HTTP\/1\.1 413 [\s\S]*TOO_LARGE/);
  });

  it('lets a slow client that sends its whole body before it reads get the response', async () => {
    const client = connect(Number(new URL(await start()).port), '127.0.0.1').pause();
    client.on('error', () => undefined);
    const piece = Buffer.alloc(250_000);
    client.write(`POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: ${4 * piece.length}\r\n\r\n`);
    for (let n = 0; n < 4; n += 1) {
      client.write(piece);
      await delay(150);
    }
    expect(Buffer.concat(await client.toArray()).toString()).toMatch(
      /^HTTP\/1\.1 413 [^]*"code":"TOO_LARGE"/,
    );
  });

  it.each([
    ['a body', 'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n'],
    ['a broken request', 'POST /echo HTTP/1.1\r\nHost a\r\n\r\n'],
  ])('frees what comes of %s after its refusal at once, without a garbage collection', async (_of, head) => {
    const { port } = new URL(await start());
    const servers: Socket[] = [];
    listener?.server.on('connection', (socket) => servers.push(socket));
    const half = Buffer.alloc(512 * 1024);
    const before = process.memoryUsage().arrayBuffers;
    let most = before;
    const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().arrayBuffers)));
    const clients = Array.from({ length: 200 }, () => connect(Number(port), '127.0.0.1'));
    const reads = async (client: Socket): Promise<void> => {
      client.setEncoding('latin1').write(head);
      client.write(half);
      expect(await once(client, 'data')).toEqual([expect.stringMatching(/^HTTP\/1\.1 4/)]);
    };
    await Promise.all(clients.map(reads));
    await Promise.all(servers.map((server) => hasRead(server, head.length + half.length)));
    clearInterval(watch);
    for (const client of clients) client.destroy();
    expect(most - before).toBeLessThan(8 * 1024 * 1024);
  });

  it('rejects a content coding, so that no small body becomes a large one', async () => {
    expect((await post(await start(), 'x', { 'content-encoding': 'gzip' })).status).toBe(400);
  });
});

describe('a broken request', () => {
  const POST = 'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n';
  it.each([
    [431, 'a header block over the limit', `GET / HTTP/1.1\r\nHost: a\r\n${'x: y\r\n'.repeat(100_000)}\r\n`],
    [400, 'no Host', 'GET /limited HTTP/1.1\r\n\r\n'],
    [417, 'an unknown expectation', `${POST}Expect: a-miracle\r\n\r\nabc`],
    // A proxy may have followed the other.
    [400, 'two Host headers', 'GET /limited HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n'],
    [400, 'Content-Length and Transfer-Encoding', `${POST}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ])('is answered %i, in the form of every error: %s', async (status, _what, request) => {
    const answer = await raw(await start(), request);
    const code = status === 431 ? 'TOO_LARGE' : 'INVALID_REQUEST';
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*Connection: close\r\n[^]*"code":"${code}"`));
  });
});

describe('a request that is unfinished at its deadline', () => {
  const HEAD = ['GET /limited HTTP/1.1\r\nHost: a\r\n', '\r\n'] as const;
  const BODY = ['POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nx', 'yz'] as const;
  /** Has sent the first part, which was read. */
  const half = async (url: string, [first]: readonly [string, string]) => {
    if (listener === undefined) throw new Error('nothing listens');
    const accepted = once(listener.server, 'connection') as Promise<[Socket]>;
    const client = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('latin1');
    client.on('error', () => undefined).write(first);
    const [server] = await accepted;
    await hasRead(server, first.length);
    return client;
  };

  it('is served where all of it had reached the machine, which was blocked', async () => {
    const url = await start({ headersTimeoutMs: 500, requestTimeoutMs: 500 });
    const clients = [await half(url, HEAD), await half(url, BODY)];
    // Node's timers are due right behind this.
    await nextTurn();
    clients.forEach((client, at) => client.write([HEAD, BODY][at]?.[1] ?? ''));
    // Past the bounds, and past Node's next look at them.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_200);
    const answers = await Promise.all(clients.map(async (client) => String((await once(client, 'data'))[0])));
    expect(answers.map((text) => text.slice(9, 12))).toEqual(['429', '200']);
    for (const client of clients) client.destroy();
  });

  it('is answered 408, and none any more though its rest comes', async () => {
    const served: unknown[] = [];
    listener = await listen(
      (req) =>
        void readBody(req, { maxBytes: 10 }).then(
          () => served.push(req.url),
          () => undefined,
        ),
      { host: '127.0.0.1', port: 0, headersTimeoutMs: 200, requestTimeoutMs: 200 },
    );
    const clients = [await half(listener.url, HEAD), await half(listener.url, BODY)];
    const refused = clients.map(async (client, at) => {
      expect(String((await once(client, 'data'))[0])).toMatch(/^HTTP\/1\.1 408 /);
      client.end([HEAD, BODY][at]?.[1] ?? '');
      await once(client, 'close');
    });
    await Promise.all(refused);
    expect(served).toEqual([]);
  });
});

describe('a closing server with a grace time', () => {
  const HOUR_MS = 3_600_000;

  it('does not wait for a connection without a request', async () => {
    const server = await listen((_req, res) => void res.end(), { host: '127.0.0.1', port: 0 });
    const taken = once(server.server, 'connection');
    const client = connect(server.port, '127.0.0.1');
    client.on('error', () => undefined).resume();
    await taken;
    await server.close(HOUR_MS);
    if (!client.closed) await once(client, 'close');
  });

  it('waits for a response in progress, and not for its idle connection', async () => {
    let answer: ((text: string) => void) | undefined;
    const asked = Promise.withResolvers<void>();
    const server = await listen(
      (_req, res) => {
        answer = (text) => res.end(text);
        asked.resolve();
      },
      { host: '127.0.0.1', port: 0 },
    );
    const client = connect(server.port, '127.0.0.1');
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const received: Buffer[] = [];
    client.on('data', (chunk: Buffer) => received.push(chunk));
    await asked.promise;
    const closing = server.close(HOUR_MS);
    answer?.('in hand');
    await closing;
    expect(Buffer.concat(received).toString()).toMatch(/^HTTP\/1\.1 200 [\s\S]*in hand/);
  });
});
