import type { RequestListener } from 'node:http';
import { Writable } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { countingServer } from './counting-server.ts';
import { HeldTaker, Opened, callTo, failure, taken } from './stream-calls.ts';

const PIECES = 10_000;

describe('a streamed response', () => {
  const opened = new Opened();
  afterEach(() => opened.close());
  const serverOf = async (handler: RequestListener) => opened.of(await countingServer(handler));

  it('has status, fields as received and body; the call has method, path, query, fields and body', async () => {
    const server = await serverOf((req, res) => {
      const chunks: Buffer[] = [];
      req.on('data', (chunk: Buffer) => chunks.push(chunk));
      req.on('end', () => {
        res.writeHead(418, [
          ['X-Echo', String(req.headers['x-given'])],
          ['x-two', 'a'],
          ['x-latin', 'é'],
          ['X-Two', 'b'],
        ]);
        res.end(`${req.method} ${req.url} ${req.headers.host} ${Buffer.concat(chunks).toString()}`);
      });
    });
    const { head, text } = await taken(
      opened.egress(),
      callTo(server.port, {
        path: '/a/b?c=d#fragment',
        method: 'POST',
        headers: { 'x-given': 'yes' },
        body: Buffer.from('hello'),
      }),
    );
    expect(head.status).toBe(418);
    expect(head.fields.slice(0, 4)).toEqual([
      ['x-echo', 'yes'],
      ['x-two', 'a'],
      ['x-latin', 'é'],
      ['x-two', 'b'],
    ]);
    expect(text).toBe(`POST /a/b?c=d 127.0.0.1:${server.port} hello`);
  });

  it('is complete and in order: ten thousand chunks to a slow reader', async () => {
    const server = await serverOf((_req, res) => {
      let next = 0;
      const more = (): void => {
        while (next < PIECES) if (!res.write(`data: ${next++}\n\n`)) return void res.once('drain', more);
        res.end();
      };
      more();
    });
    let text = '';
    const slow = new Writable({
      highWaterMark: 64,
      write: (piece: Buffer, _encoding, done) => {
        text += piece.toString();
        setImmediate(done);
      },
    });
    await opened.egress().stream(callTo(server.port), () => slow);
    expect(text).toBe(Array.from({ length: PIECES }, (_, n) => `data: ${n}\n\n`).join(''));
  });

  it('delivers its first chunk before the upstream sends the second', async () => {
    const taker = new HeldTaker();
    taker.release();
    const server = await serverOf((_req, res) => {
      res.write('first');
      void taker.first.then(() => res.end(` and after ${taker.bytes} bytes the second`));
    });
    await opened.egress().stream(callTo(server.port), () => taker);
    expect(taker.bytes).toBe('first and after 5 bytes the second'.length);
  });

  it('is not read from the upstream while its reader does not read', async () => {
    const whole = 100_000_000;
    const piece = Buffer.alloc(64 * 1024);
    let sent = 0;
    const server = await serverOf((_req, res) => {
      const more = (): void => {
        while (sent < whole) {
          sent += piece.byteLength;
          if (!res.write(piece)) return void res.once('drain', more);
        }
        res.end();
      };
      more();
    });
    const taker = new HeldTaker();
    const call = opened.egress().stream(callTo(server.port), () => taker);
    await taker.first;
    await vi.waitFor(
      () => {
        const before = sent;
        return new Promise((resolve) => setTimeout(resolve, 100)).then(() => expect(sent).toBe(before));
      },
      { timeout: 20_000 },
    );
    // What the sockets of both sides hold, and nothing of ours.
    expect(sent).toBeLessThan(whole / 3);
    expect(taker.bytes).toBeLessThan(1024 * 1024);
    taker.release();
    await call;
    expect(taker.bytes).toBe(sent);
  });

  it.each([301, 302, 303, 307, 308])('may be a redirect, which is not followed: %i', async (status) => {
    const target = await serverOf((_req, res) => res.end('reached'));
    const server = await serverOf((_req, res) =>
      res.writeHead(status, { location: `http://127.0.0.1:${target.port}/` }).end('moved'),
    );
    const { head, text } = await taken(opened.egress(), callTo(server.port));
    expect(head.status).toBe(status);
    expect(head.fields).toContainEqual(['location', `http://127.0.0.1:${target.port}/`]);
    expect(text).toBe('moved');
    expect(target.connections()).toBe(0);
  });

  it.each([204, 304])('may have no body: %i', async (status) => {
    const server = await serverOf((_req, res) => res.writeHead(status).end());
    const { head, text } = await taken(opened.egress(), callTo(server.port));
    expect([head.status, text]).toEqual([status, '']);
  });

  it('that breaks off destroys its reader and is not complete', async () => {
    const server = await serverOf((req, res) => {
      if (req.url === '/length') res.writeHead(200, { 'content-length': 10 });
      res.write('half', () => res.destroy());
    });
    for (const path of ['/chunked', '/length']) {
      const taker = new HeldTaker();
      taker.release();
      expect(await failure(opened.egress().stream(callTo(server.port, { path }), () => taker))).toBe(
        'connect',
      );
      expect(taker.destroyed).toBe(true);
      expect(taker.writableFinished).toBe(false);
    }
  });

  it('that its reader cancels ends at the upstream too', async () => {
    const ended = Promise.withResolvers<void>();
    const server = await serverOf((_req, res) => {
      res.on('close', () => ended.resolve());
      res.write('x');
    });
    const taker = new HeldTaker();
    const call = opened.egress().stream(callTo(server.port), () => taker);
    await taker.first;
    taker.destroy();
    // Not `connect`: nothing is wrong with the other side.
    expect(await failure(call)).toBe('aborted');
    await ended.promise;
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
    ['is destroyed already', () => new Writable().destroy()],
    ['breaks', () => new Writable({ write: (_piece, _encoding, done) => done(new Error('no')) })],
  ])('whose reader %s is not read further', async (_what, take) => {
    const ended = Promise.withResolvers<void>();
    const server = await serverOf((_req, res) => {
      res.on('close', () => ended.resolve());
      res.write('x');
    });
    expect(await failure(opened.egress().stream(callTo(server.port), take))).toBe('aborted');
    await ended.promise;
  });

  it('ends when its caller aborts, in each phase, and the upstream notices', async () => {
    const heads = new Map<string, () => void>();
    const closes = new Map<string, () => void>();
    const server = await serverOf((req, res) => {
      const path = req.url ?? '';
      res.on('close', () => closes.get(path)?.());
      if (path === '/body') res.write('x');
      heads.get(path)?.();
    });
    const egress = opened.egress({ resolve: () => new Promise(() => undefined) });
    const phase = async (path: string): Promise<void> => {
      const caller = new AbortController();
      const [arrived, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      heads.set(path, arrived.resolve);
      closes.set(path, closed.resolve);
      const taker = new HeldTaker();
      const call = egress.stream(callTo(server.port, { path, signal: caller.signal }), () => taker);
      await (path === '/body' ? taker.first : arrived.promise);
      caller.abort();
      expect(await failure(call)).toBe('aborted');
      expect(taker.destroyed).toBe(path === '/body');
      await closed.promise;
    };
    await phase('/head');
    await phase('/body');

    const unresolved = new AbortController();
    const waiting = egress.stream(
      { ...callTo(server.port), url: `http://name.example:${server.port}/`, signal: unresolved.signal },
      () => new HeldTaker(),
    );
    setImmediate(() => unresolved.abort());
    expect(await failure(waiting)).toBe('aborted');
    expect(
      await failure(
        egress.stream(callTo(server.port, { signal: AbortSignal.abort() }), () => new HeldTaker()),
      ),
    ).toBe('aborted');
    expect(server.connections()).toBe(2);
  });

  it('ends when the egress client is closed, and no other begins', async () => {
    const ended = Promise.withResolvers<void>();
    const server = await serverOf((_req, res) => {
      res.on('close', () => ended.resolve());
      res.write('x');
    });
    const egress = opened.egress();
    const taker = new HeldTaker();
    const call = egress.stream(callTo(server.port), () => taker);
    await taker.first;
    await egress.close();
    expect(await failure(call)).toBe('aborted');
    expect(taker.destroyed).toBe(true);
    await ended.promise;
    expect(await failure(taken(egress, callTo(server.port)))).toBe('aborted');
  });

  it('is not started for a call that is not valid HTTP, or that sets Host', async () => {
    const server = await serverOf((_req, res) => res.end());
    for (const headers of [
      { 'x-a': 'b\r\nx-c: d' },
      { 'x a': 'b' },
      { 'x-a': 'b\0' },
      { Host: 'evil.example' },
    ])
      expect(await failure(taken(opened.egress(), callTo(server.port, { headers })))).toMatch(
        /^another error/,
      );
    expect(server.connections()).toBe(0);
  });

  it('leaves no connection or listener behind, a thousand times', async () => {
    const server = await serverOf((req, res) => {
      if (req.url === '/broken') req.socket.destroy();
      else res.end('ok');
    });
    const egress = opened.egress();
    const caller = new AbortController();
    const listeners = vi.spyOn(caller.signal, 'addEventListener');
    const removed = vi.spyOn(caller.signal, 'removeEventListener');
    const call = (n: number) =>
      failure(
        taken(egress, callTo(server.port, { path: n % 10 === 0 ? '/broken' : '/', signal: caller.signal })),
      );
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    for (let n = 0; n < 1_000; n += 50)
      await Promise.all(Array.from({ length: 50 }, (_, at) => call(n + at)));
    expect(listeners).toHaveBeenCalledTimes(1_000);
    expect(removed).toHaveBeenCalledTimes(1_000);
    // Each with a deadline of twenty seconds: one that stayed would still be there.
    expect(timers()).toBeLessThan(before + 10);
  });
});
