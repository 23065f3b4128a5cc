import { Agent, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { randomToken } from '@svault/shared';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Door } from './door.ts';
import { type PlainUpstream, startPlainUpstream, startRawUpstream } from './plain-upstream.ts';
import { type ProxiedService, startProxiedService } from './proxied-service.ts';
import { open, rest } from './reading.ts';

// Streams through both, between processes: streams-through-both.sqlite.hard.test.ts.
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

test('an answer through both hops leaves its connection to the reader’s next one', async () => {
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
