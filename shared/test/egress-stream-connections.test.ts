import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type RawRequest, rawAnswer, rawUpstream } from './raw-upstream.ts';
import { HeldTaker, Opened, callTo, failure, taken } from './stream-calls.ts';

/** So many calls may be under way from one partition to one origin. */
const MAX_STREAMS = 256;

describe('connections of streamed responses', () => {
  const opened = new Opened();
  afterEach(() => opened.close());
  const upstream = async (answer: (request: RawRequest) => void) => opened.of(await rawUpstream(answer));
  const echo = ({ socket, line, connection }: RawRequest): void =>
    void socket.write(rawAnswer(`${line.split(' ')[1]} on ${connection}`));

  it('are reused, one call at a time', async () => {
    const server = await upstream(echo);
    const egress = opened.egress();
    for (let n = 0; n < 100; n += 1) {
      const { text } = await taken(egress, callTo(server.port, { path: `/${n}` }));
      expect(text).toMatch(`/${n} on`);
    }
    await vi.waitFor(
      async () => {
        const before = server.connections();
        await taken(egress, callTo(server.port));
        expect(server.connections()).toBe(before);
      },
      { timeout: 20_000 },
    );
  });

  it('are not reused once another call of theirs has failed, which a partition may have ended as well', async () => {
    const server = await upstream((request) => {
      if (request.line.includes('cut')) request.socket.destroy();
      else echo(request);
    });
    const egress = opened.egress();
    const round = () => Promise.all([1, 2, 3].map(() => taken(egress, callTo(server.port))));
    await round();
    await failure(taken(egress, callTo(server.port, { path: '/cut' })));
    const before = server.connections();
    // Longer than a connection rests.
    await delay(200);
    for (const { text } of await round()) expect(Number(text.split(' ').at(-1))).toBeGreaterThan(before);
  });

  it('are never shared by partitions, nor by origins', async () => {
    const partitionsOf = new Map<number, Set<string>>();
    const server = await upstream(({ socket, line, connection }) => {
      const seen = partitionsOf.get(connection) ?? new Set();
      partitionsOf.set(connection, seen.add(line.split(' ')[1] ?? ''));
      socket.write(rawAnswer('ok'));
    });
    const egress = opened.egress({ resolve: () => Promise.resolve(['127.0.0.1']) });
    const round = () =>
      Promise.all(
        ['one', 'two', 'one http', ''].flatMap((partition) =>
          ['127.0.0.1', 'name.example'].map((host) =>
            taken(egress, {
              ...callTo(server.port, { partition }),
              url: `http://${host}:${server.port}/${encodeURIComponent(partition)}@${host}`,
            }),
          ),
        ),
      );
    await round();
    // Until connections are used again.
    await vi.waitFor(
      async () => {
        const before = server.connections();
        await round();
        expect(server.connections()).toBe(before);
      },
      { timeout: 20_000 },
    );
    expect([...partitionsOf.values()].map(({ size }) => size)).toEqual(
      Array.from({ length: server.connections() }, () => 1),
    );
  });

  it('are limited in number; a waiting call times out by itself and can be aborted', async () => {
    const held: RawRequest[] = [];
    const server = await upstream((request) => {
      if (request.line.includes('held')) held.push(request);
      else echo(request);
    });
    const egress = opened.egress();
    const calls = Array.from({ length: MAX_STREAMS }, () =>
      failure(taken(egress, callTo(server.port, { path: '/held' }))),
    );
    await vi.waitFor(() => expect(held).toHaveLength(MAX_STREAMS), { timeout: 20_000 });
    const caller = new AbortController();
    const leaving = failure(taken(egress, callTo(server.port, { signal: caller.signal })));
    const late = failure(taken(egress, callTo(server.port, { headTimeoutMs: 20 })));
    const next = taken(egress, callTo(server.port, { path: '/next' }));
    const elsewhere = await taken(egress, callTo(server.port, { path: '/else', partition: 'two' }));
    expect(elsewhere.text).toMatch('/else');
    caller.abort();
    expect(await leaving).toBe('aborted');
    expect(await late).toBe('timeout');
    expect(server.connections()).toBe(MAX_STREAMS + 1);
    held[0]?.socket.write(rawAnswer('done'));
    expect((await next).text).toBe(`/next on ${held[0]?.connection}`);
    // A connection that breaks makes room as well.
    held[1]?.socket.destroy();
    held[2]?.socket.write(rawAnswer('done'));
    await taken(egress, callTo(server.port));
    for (const { socket } of held.slice(3)) socket.write(rawAnswer('done'));
    const broken = (await Promise.all(calls)).filter((how) => how !== 'answered');
    expect(broken).toEqual(['connect']);
  });

  it('of idle partitions are closed, and their responses in progress continue', async () => {
    const held: RawRequest[] = [];
    const server = await upstream((request) => {
      if (request.line.includes('held')) held.push(request);
      else echo(request);
    });
    const egress = opened.egress();
    await taken(egress, callTo(server.port, { partition: 'idle' }));
    const busy = taken(egress, callTo(server.port, { partition: 'busy', path: '/held' }));
    await vi.waitFor(() => expect(held).toHaveLength(1), { timeout: 20_000 });
    for (let n = 0; n < 1_010; n += 101)
      await Promise.all(
        Array.from({ length: 101 }, (_, at) =>
          taken(egress, callTo(server.port, { partition: `other ${n + at}` })),
        ),
      );
    await vi.waitFor(() => expect(server.open()).toBeLessThanOrEqual(1_001), { timeout: 20_000 });
    held[0]?.socket.write(rawAnswer('still'));
    expect((await busy).text).toBe('still');
  });

  it('that the other side has closed are not reused', async () => {
    const server = await upstream(({ socket }) =>
      socket.end(rawAnswer('last', 'connection: keep-alive\r\n')),
    );
    const egress = opened.egress();
    for (let n = 0; n < 50; n += 1) expect((await taken(egress, callTo(server.port))).text).toBe('last');
    expect(server.connections()).toBe(50);
  });

  it('that the other side closes at the moment of reuse fail no call', async () => {
    const sockets = new Set<Socket>();
    const server = await upstream((request) => {
      sockets.add(request.socket);
      echo(request);
    });
    const egress = opened.egress();
    for (let n = 0; n < 5; n += 1) {
      await taken(egress, callTo(server.port));
      // So that there is one that has rested; where this comes too early, a new one is taken.
      await delay(200);
      // Nothing is read in between.
      for (const socket of sockets) socket.destroy();
      expect((await taken(egress, callTo(server.port))).text).toMatch('/ on');
    }
  });

  // R29. The answer that nobody asked for is written where it hurts most.
  const STRAY = rawAnswer('STRAY');
  it.each([
    ['in the packet of the first', (request: RawRequest) => request.socket.write(rawAnswer('own') + STRAY)],
    [
      'in a packet right behind',
      ({ socket }: RawRequest) => {
        socket.setNoDelay(true).write(rawAnswer('own'));
        socket.write(STRAY);
      },
    ],
    [
      'one turn later',
      ({ socket }: RawRequest) => {
        socket.write(rawAnswer('own'));
        setImmediate(() => socket.write(STRAY));
      },
    ],
    [
      'some milliseconds later',
      ({ socket }: RawRequest) => {
        socket.write(rawAnswer('own'));
        setTimeout(() => socket.write(STRAY), 5);
      },
    ],
    [
      'as half of one',
      ({ socket }: RawRequest) => socket.write(`${rawAnswer('own')}HTTP/1.1 200 OK\r\ncontent-length: 5`),
    ],
    ['as bytes that are no answer', ({ socket }: RawRequest) => socket.write(`${rawAnswer('own')}garbage`)],
    [
      'as a body that 204 has not',
      ({ socket }: RawRequest) =>
        socket.write(`HTTP/1.1 204 No Content\r\ncontent-length: ${STRAY.length}\r\n\r\n${STRAY}`),
    ],
    [
      'as one behind the last chunk',
      ({ socket }: RawRequest) =>
        socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nown\r\n0\r\n\r\n${STRAY}`),
    ],
    [
      'as an interim one',
      ({ socket }: RawRequest) => socket.write(`${rawAnswer('own')}HTTP/1.1 103 Early Hints\r\n\r\n${STRAY}`),
    ],
  ])('never deliver a second response to the next caller: %s', async (_how, answer) => {
    const server = await upstream((request) => {
      // A connection that has answered keeps the next call waiting, so that the stray answer is there first.
      if (answeredOn.has(request.socket)) setTimeout(() => answer(request), 30);
      else answer(request);
      answeredOn.add(request.socket);
    });
    const answeredOn = new WeakSet<object>();
    const egress = opened.egress();
    for (let n = 0; n < 20; n += 1) {
      const { text } = await taken(egress, callTo(server.port));
      expect(['own', '']).toContain(text);
    }
  });

  it.each([
    ['a second answer', STRAY],
    ['anything', 'garbage'],
  ])('are no longer reused once an upstream has written an unrequested %s', async (_what, stray) => {
    const server = await upstream(({ socket, line }) => {
      socket.write(rawAnswer('own'));
      // Long after the rest: the connection could have been used again.
      if (line.includes('stray')) setTimeout(() => socket.write(stray), 200);
    });
    const egress = opened.egress();
    await taken(egress, callTo(server.port, { path: '/stray' }));
    await vi.waitFor(() => expect(server.open()).toBe(0), { timeout: 20_000 });
    for (let n = 0; n < 30; n += 1) expect((await taken(egress, callTo(server.port))).text).toBe('own');
    await vi.waitFor(() => expect(server.open()).toBe(0), { timeout: 20_000 });
    expect(server.connections()).toBe(31);
    // Other partitions are not held to account for it.
    await vi.waitFor(
      async () => {
        const before = server.connections();
        await taken(egress, callTo(server.port, { partition: 'two' }));
        expect(server.connections()).toBe(before);
      },
      { timeout: 20_000 },
    );
  });

  it('never deliver a response to a body that an upstream took for a request after an early response', async () => {
    // It answers at the head, reads the rest of the body as further requests, and answers them when the next one is there.
    const owed = new Map<number, string>();
    const server = await upstream(({ socket, line, connection }) => {
      if (line.startsWith('POST')) return void socket.write(rawAnswer('early'));
      if (line === 'GET / HTTP/1.1') socket.write((owed.get(connection) ?? '') + rawAnswer('own'));
      else owed.set(connection, STRAY);
    });
    const smuggled = '\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n';
    const egress = opened.egress();
    for (const bytes of [15_000, 1_000_000, 6_000_000]) {
      const body = Buffer.from('x'.repeat(bytes) + smuggled);
      const early = await taken(egress, callTo(server.port, { method: 'POST', body }));
      expect(early.text).toBe('early');
      const next: string[] = [];
      // So many that it is each connection's turn again.
      for (let n = 0; n < 200; n += 1) next.push((await taken(egress, callTo(server.port))).text);
      expect(new Set(next)).toEqual(new Set(['own']));
    }
  });

  it('never deliver the rest of an aborted response to the next caller', async () => {
    const server = await upstream(({ socket, line }) => {
      if (!line.includes('given-up')) return void socket.write(rawAnswer('own'));
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nbegin`);
      setTimeout(() => socket.writable && socket.write(STRAY.repeat(3)), 10);
    });
    const egress = opened.egress();
    for (let n = 0; n < 10; n += 1) {
      const caller = new AbortController();
      const taker = new HeldTaker();
      const call = egress.stream(
        callTo(server.port, { path: '/given-up', signal: caller.signal }),
        () => taker,
      );
      await taker.first;
      caller.abort();
      expect(await failure(call)).toBe('aborted');
      expect((await taken(egress, callTo(server.port))).text).toBe('own');
    }
  });
});
