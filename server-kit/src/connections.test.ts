import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Socket, connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EventStream, noteEventStream } from './event-stream.ts';
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

describe('a server whose program is to stop', () => {
  it('answers on connections that it has, and on new ones, and closes each by its answer', async () => {
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

  it('says so in the answer to what was in hand by then, and to what was half there', async () => {
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

  it('closes behind the last of several requests that came at once', async () => {
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

  it('does nothing for a request behind an answer that closes', async () => {
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

describe('a server that closes', () => {
  it('answers what had reached the machine, on an idle connection and on many that it had not accepted', async () => {
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

  it('takes no new connection while an answer is in hand', async () => {
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
    noteEventStream(answer(at), [['content-type', type]], kind);
    answer(at).writeHead(200, ['content-type', type]);
    answer(at).write('data: 1\n\n');
    await opened.has('data: 1');
    return opened;
  };
  const ENDED = /data: 1\n\n\r\n0\r\n\r\n$/;

  it('ends a stream that stands for nothing at once, as a whole', async () => {
    const standing = await stream('standing');
    await listener.close(HOUR_MS);
    expect(await standing.whole()).toMatch(ENDED);
  });

  it('ends a stream that is to bring an answer at its bound, as a whole; what is no stream is torn', async () => {
    const [answering, plain] = [await stream('answering'), await stream('answering', 'application/json')];
    await listener.close(SHORT_MS);
    expect(await answering.whole()).toMatch(ENDED);
    expect(await plain.whole()).toMatch(/data: 1\n\n\r\n$/);
  });

  it('lets such a stream bring its answer before the bound', async () => {
    const { whole } = await stream('answering');
    const closed = listener.close(HOUR_MS);
    await nextTurn();
    answer(0).end('data: 2\n\n');
    await closed;
    expect(await whole()).toMatch(/data: 2\n\n\r\n0\r\n\r\n$/);
  });

  it('tells a request that is half there at the bound that nothing was done for it', async () => {
    const [head, body] = [await client(), await client()];
    head.socket.write('GET / HTTP/1.1\r\n');
    body.socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx');
    await listener.close(SHORT_MS);
    for (const half of [head, body])
      expect(await half.whole()).toMatch(/^HTTP\/1\.1 408 [^]*Connection: close/);
  });
});
