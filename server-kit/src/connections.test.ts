import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Socket, connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EventStream, markEventStream } from './streamed-response.ts';
import { type Listener, listen } from './listener.ts';

const HOUR_MS = 3_600_000;
const SHORT_MS = 50;
const ask = (path = '/'): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

let leaving: AbortController;
let listener: Listener;
/** Of requests whose answers a test writes, in their order. */
let asked: { readonly req: IncomingMessage; readonly res: ServerResponse }[];
let clients: Socket[];
beforeEach(async () => {
  leaving = new AbortController();
  [asked, clients] = [[], []];
  listener = await listen(
    (req, res) => {
      if (req.url === '/later') asked.push({ req, res });
      else if (req.method === 'POST') req.resume().once('end', () => res.end('read'));
      else res.end(`to ${req.url}`);
    },
    { host: '127.0.0.1', port: 0, leaving: leaving.signal },
  );
});
afterEach(async () => {
  for (const client of clients) client.destroy();
  await listener.close(0);
});

/** A connection that asks, and remembers all that comes. */
async function client() {
  const socket = connect(listener.port, '127.0.0.1').setEncoding('latin1');
  clients.push(socket);
  let text = '';
  socket.on('data', (piece: string) => (text += piece)).on('error', () => undefined);
  await once(socket, 'connect');
  return {
    socket,
    text: () => text,
    has: (part: string) => expect.poll(() => text, { interval: 1 }).toContain(part),
    whole: async (): Promise<string> => {
      if (!socket.closed) await once(socket, 'close');
      return text;
    },
  };
}
const inHand = (count: number) => expect.poll(() => asked.length, { interval: 1 }).toBe(count);
const answer = (at: number): ServerResponse => {
  const { res } = asked[at] ?? {};
  if (res === undefined) throw new Error('nobody asked');
  return res;
};
const CLOSES = 'Connection: close\r\n';

describe('a draining server', () => {
  it('serves open and new connections, and closes each with its response', async () => {
    const kept = await client();
    kept.socket.write(ask('/first'));
    await kept.has('to /first');
    leaving.abort();
    kept.socket.write(ask('/second'));
    const [first = '', second = ''] = (await kept.whole()).split('to /first');
    expect(first).not.toContain(CLOSES);
    expect(second).toMatch(/200 OK\r\n[^]*Connection: close\r\n[^]*to \/second/);
    const another = await client();
    another.socket.write(ask('/third'));
    expect(await another.whole()).toMatch(/Connection: close\r\n[^]*to \/third/);
  });

  it('sends Connection: close in responses to requests in progress and to unfinished ones', async () => {
    const [waiting, half] = [await client(), await client()];
    waiting.socket.write(ask('/later'));
    half.socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx');
    await inHand(1);
    leaving.abort();
    answer(0).end('waited for');
    half.socket.write('y');
    expect(await waiting.whole()).toMatch(/Connection: close\r\n[^]*waited for/);
    expect(await half.whole()).toMatch(/Connection: close\r\n[^]*read/);
  });

  it('closes after the last of several pipelined requests', async () => {
    const { socket, whole } = await client();
    socket.write(ask('/later').repeat(2));
    await inHand(2);
    leaving.abort();
    socket.write(ask('/later'));
    await inHand(3);
    for (const name of [0, 1, 2]) answer(name).end(`answer ${name}`);
    const [zero = '', one = '', two = ''] = (await whole()).split(/(?<=answer \d)/);
    expect([zero, one, two].map((text) => [text.includes(CLOSES), text.slice(-8)])).toEqual([
      [false, 'answer 0'],
      [false, 'answer 1'],
      [true, 'answer 2'],
    ]);
  });

  it('does not process a request after a closing response', async () => {
    const { socket, has, whole } = await client();
    leaving.abort();
    socket.write(ask('/later'));
    await inHand(1);
    answer(0).write('begun');
    await has('begun');
    socket.write(ask('/later'));
    await expect.poll(() => asked[0]?.req.socket.bytesRead).toBe(2 * ask('/later').length);
    answer(0).end();
    await whole();
    expect(asked).toHaveLength(1);
  });
});

describe('a closing server', () => {
  it('responds to requests that have reached the machine, on an idle connection and on many that were not accepted yet', async () => {
    const idle = await client();
    idle.socket.write(ask());
    await idle.has('to /');
    // A look at an idle connection between its bytes and their reading would reset it.
    idle.socket.write(ask('/crossing'));
    const fresh = Array.from({ length: 30 }, () => connect(listener.port, '127.0.0.1').setEncoding('latin1'));
    clients.push(...fresh);
    for (const socket of fresh) socket.write(ask('/fresh'));
    const closed = listener.close(HOUR_MS);
    const answers = await Promise.all(fresh.map(async (socket) => (await socket.toArray()).join('')));
    for (const text of answers) expect(text).toMatch(/Connection: close\r\n[^]*to \/fresh/);
    expect(await idle.whole()).toMatch(/Connection: close\r\n[^]*to \/crossing/);
    await closed;
  });

  it('accepts no new connection while a response is in progress', async () => {
    const { socket, whole } = await client();
    socket.write(ask('/later'));
    await inHand(1);
    const closed = listener.close(HOUR_MS);
    await expect
      .poll(async () => {
        const late = connect(listener.port, '127.0.0.1');
        clients.push(late);
        return once(late, 'connect').then(
          () => 'taken',
          () => 'refused',
        );
      })
      .toBe('refused');
    answer(0).end('in hand');
    expect(await whole()).toContain('in hand');
    await closed;
  });

  /** Begins a stream of events and gives its client. */
  const stream = async (kind: EventStream, type = 'text/event-stream') => {
    const opened = await client();
    opened.socket.write(ask('/later'));
    const at = asked.length;
    await inHand(at + 1);
    markEventStream(answer(at), [['content-type', type]], kind);
    answer(at).writeHead(200, ['content-type', type]);
    answer(at).write('data: 1\n\n');
    await opened.has('data: 1');
    return opened;
  };
  const ENDED = /data: 1\n\n\r\n0\r\n\r\n$/;

  it('ends a standing event stream at once and completely', async () => {
    const standing = await stream('standing');
    await listener.close(HOUR_MS);
    expect(await standing.whole()).toMatch(ENDED);
  });

  it('ends an answering event stream completely at the end of the grace time, and destroys other responses', async () => {
    const [answering, plain] = [await stream('answering'), await stream('answering', 'application/json')];
    await listener.close(SHORT_MS);
    expect(await answering.whole()).toMatch(ENDED);
    expect(await plain.whole()).toMatch(/data: 1\n\n\r\n$/);
  });

  it('lets an answering event stream end before the end of the grace time', async () => {
    const { whole } = await stream('answering');
    const closed = listener.close(HOUR_MS);
    await nextTurn();
    answer(0).end('data: 2\n\n');
    await closed;
    expect(await whole()).toMatch(/data: 2\n\n\r\n0\r\n\r\n$/);
  });

  it('answers 408 to a request that is unfinished at the end of the grace time', async () => {
    const servers: Socket[] = [];
    listener.server.on('connection', (socket) => servers.push(socket));
    const [head, body] = [await client(), await client()];
    const halves = [
      'GET / HTTP/1.1\r\n',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx',
    ] as const;
    head.socket.write(halves[0]);
    body.socket.write(halves[1]);
    // Before so short a time begins, both have been read.
    await expect
      .poll(() => servers.map(({ bytesRead }) => bytesRead), { interval: 1 })
      .toEqual(halves.map(({ length }) => length));
    await listener.close(SHORT_MS);
    for (const half of [head, body])
      expect(await half.whole()).toMatch(/^HTTP\/1\.1 408 [^]*Connection: close/);
  });
});
