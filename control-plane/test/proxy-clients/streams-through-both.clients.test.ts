import { once } from 'node:events';
import { Agent, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { randomToken } from '@svault/shared';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Door } from './door.ts';
import { type PlainUpstream, startPlainUpstream, startRawUpstream } from './plain-upstream.ts';
import { pour, untilFull } from './pouring.ts';
import { type ProxiedService, startProxiedService } from './proxied-service.ts';
import { open, rest, restLength } from './reading.ts';

// What is measured in memory, between processes: streams-through-both.sqlite.hard.test.ts.
const credential = randomToken(24);
let service: ProxiedService;
let upstream: PlainUpstream;
let raw: PlainUpstream;
let door: Door;
let rawDoor: Door;
/** How the upstreams answer in this test. */
let answer: RequestListener;
let answerRaw: (socket: Socket, piece: string) => void;
beforeAll(async () => {
  [service, upstream, raw] = await Promise.all([
    startProxiedService(),
    startPlainUpstream((req, res) => answer(req, res)),
    startRawUpstream((socket, piece) => answerRaw(socket, piece)),
  ]);
  door = await service.doorTo(upstream, credential);
  rawDoor = await service.doorTo(raw, credential);
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
  await raw.close();
});

/** Opens an answer through both hops. @returns both ends of it */
async function bothEnds(begin: (res: ServerResponse) => void) {
  const asked = Promise.withResolvers<ServerResponse>();
  answer = (_req, res) => {
    begin(res);
    asked.resolve(res);
  };
  const leaving = new AbortController();
  const ours = await open(door, { signal: leaving.signal });
  return { theirs: await asked.promise, ours, leave: () => leaving.abort() };
}
const nextPiece = async (ours: IncomingMessage): Promise<string> => {
  const [piece] = (await once(ours, 'data')) as [Buffer];
  return piece.toString();
};

describe('a stream through both hops', () => {
  test('has its head before its first event, and each event before the next is sent', async () => {
    const { theirs, ours } = await bothEnds((res) =>
      res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders(),
    );
    expect(ours.headers['content-type']).toBe('text/event-stream');
    for (let n = 0; n < 20; n += 1) {
      const arrives = nextPiece(ours);
      theirs.write(`data: ${n}\n\n`);
      expect(await arrives).toBe(`data: ${n}\n\n`);
    }
    theirs.end();
    expect(await rest(ours)).toBe('');
  });

  test('of 10,000 events is complete and in order', async () => {
    const events = Array.from({ length: 10_000 }, (_, id) => `id: ${id}\ndata: {"n":${id}}\n\n`);
    const { theirs, ours } = await bothEnds((res) => res.writeHead(200).flushHeaders());
    const write = async (): Promise<void> => {
      for (const event of events) if (!theirs.write(event)) await once(theirs, 'drain');
      theirs.end();
    };
    const [text] = await Promise.all([rest(ours), write()]);
    expect(text).toBe(events.join(''));
  });

  test('stays with the upstream while its reader reads nothing', async () => {
    const whole = 200_000_000;
    let pouring: ReturnType<typeof pour> | undefined;
    const { theirs, ours } = await bothEnds((res) => (pouring = pour(res, whole)));
    if (pouring === undefined) throw new Error('never asked');
    const full = await untilFull(pouring);
    // What the sockets of four programs hold, which is the kernel's affair, and a few pieces of ours.
    expect(full).toBeLessThan(whole / 2);
    const ended = once(theirs, 'close');
    ours.destroy();
    await ended;
    expect(pouring.sent()).toBeLessThan(whole / 2);
  });

  test('is as long as it is: 20 MB, to the byte', async () => {
    const { ours } = await bothEnds((res) => void pour(res, 20 * 1024 * 1024));
    expect(await restLength(ours)).toBe(20 * 1024 * 1024);
  });

  test.each([
    ['before the head', () => undefined],
    ['in the body', (res: ServerResponse) => void res.writeHead(200).write('data: 1\n\n')],
  ])('is given up at the upstream when its reader leaves %s', async (_when, begin) => {
    const ended = Promise.withResolvers<void>();
    const leaving = new AbortController();
    answer = (_req, res) => {
      res.on('close', () => ended.resolve());
      begin(res);
      if (!res.headersSent) leaving.abort();
    };
    const left = open(door, { signal: leaving.signal }).then(async (ours) => {
      await nextPiece(ours);
      leaving.abort();
    });
    await left.catch(() => undefined);
    await ended.promise;
    // Nobody takes the one who left for a webhook that is away.
    answer = (_req, res) => res.end('next');
    expect(await rest(await open(door))).toBe('next');
  });

  test('that breaks off at the upstream breaks off here', async () => {
    const { theirs, ours } = await bothEnds((res) => void res.writeHead(200).write('half'));
    expect(await nextPiece(ours)).toBe('half');
    theirs.destroy();
    await expect(rest(ours)).rejects.toThrow('aborted');
  });

  test('leaves its connection to the reader’s next one', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    answer = (_req, res) => res.end('ok');
    const ports = new Set<number | undefined>();
    for (let n = 0; n < 10; n += 1) {
      const ours = await open(door, { agent });
      ports.add(ours.socket.localPort);
      expect(await rest(ours)).toBe('ok');
    }
    expect(ports.size).toBe(1);
    agent.destroy();
  });
});

// R29, through both hops: twenty callers one after another, at an upstream that answers more than it is asked.
describe('the next caller never gets what an upstream writes beside its answer:', () => {
  const STRAY = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nSTRAY';
  const OWN = 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nown';
  test.each([
    ['a second answer in the same packet', (socket: Socket) => socket.write(OWN + STRAY)],
    ['one in the next packet', (socket: Socket) => socket.setNoDelay(true).write(OWN) && socket.write(STRAY)],
    [
      'one a little later',
      (socket: Socket) => {
        socket.write(OWN);
        setTimeout(() => socket.write(STRAY), 5);
      },
    ],
    ['half of one', (socket: Socket) => socket.write(OWN + STRAY.slice(0, 20))],
    [
      'a few interim ones',
      (socket: Socket) =>
        socket.write(`${'HTTP/1.1 103 Early Hints\r\nx: y\r\n\r\n'.repeat(3)}${OWN}${STRAY}`),
    ],
  ])('%s', async (_what, write) => {
    answerRaw = (socket, piece) => {
      if (piece.startsWith('GET ')) write(socket);
    };
    for (let n = 0; n < 20; n += 1) {
      const ours = await open(rawDoor);
      expect([ours.statusCode, await rest(ours)]).toEqual([200, 'own']);
    }
  });

  test('an answer before the request’s body was read', async () => {
    const body = `${'x'.repeat(3_000_000)}\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n`;
    answerRaw = (socket, piece) => {
      if (piece.startsWith('POST ') || piece.startsWith('GET /mcp')) socket.write(OWN);
      else if (piece.includes('GET /smuggled')) socket.write(STRAY);
    };
    for (let n = 0; n < 5; n += 1) {
      const early = await open(rawDoor, { method: 'POST', body });
      expect(await rest(early)).toBe('own');
      expect(await rest(await open(rawDoor))).toBe('own');
    }
  });

  test('a flood of interim ones, which is no answer', async () => {
    answerRaw = (socket) => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100));
    const refused = await open(rawDoor);
    expect([refused.statusCode, JSON.parse(await rest(refused))]).toMatchObject([
      502,
      { code: 'UPSTREAM_ERROR' },
    ]);
    answerRaw = (socket) => socket.write(OWN);
    expect(await rest(await open(rawDoor))).toBe('own');
  });
});
