import { setDefaultCACertificates } from 'node:tls';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { countingServer } from './counting-server.ts';
import { type RawRequest, rawAnswer, rawUpstream } from './raw-upstream.ts';
import { HeldTaker, Opened, callTo, failure, taken } from './stream-calls.ts';
import { testCertificate } from './test-certificate.ts';

const SHORT_MS = 60;

describe('a streamed response', () => {
  const opened = new Opened();
  afterEach(() => opened.close());
  const upstream = async (answer: (request: RawRequest) => void) => opened.of(await rawUpstream(answer));
  const takerNotAsked = vi.fn(() => new HeldTaker());

  it.each([
    ['without an answer', ''],
    ['that stops in its head', 'HTTP/1.1 200 OK\r\nx-a: b\r\n'],
    ['that says it is processing, and says no more', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(8)],
  ])('must begin in time, or its connection is closed: one %s', async (_what, text) => {
    const server = await upstream(({ socket }) => socket.write(text));
    const call = opened
      .egress()
      .stream(callTo(server.port, { headTimeoutMs: SHORT_MS, idleTimeoutMs: 1 }), takerNotAsked);
    expect(await failure(call)).toBe('timeout');
    await vi.waitFor(() => expect(server.open()).toBe(0), { timeout: 20_000 });
    expect(takerNotAsked).not.toHaveBeenCalled();
  });

  it('must begin in time, including the lookup of the address', async () => {
    const egress = opened.egress({ resolve: () => new Promise(() => undefined) });
    const call = { ...callTo(1, { headTimeoutMs: SHORT_MS }), url: 'https://name.example/' };
    expect(await failure(egress.stream(call, takerNotAsked))).toBe('timeout');
  });

  it('is rejected after a flood of interim responses (R29)', async () => {
    const server = await upstream(({ socket }) => {
      const more = (): void => {
        while (socket.writable && socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(50)));
        socket.once('drain', more);
      };
      more();
    });
    expect(await failure(opened.egress().stream(callTo(server.port), takerNotAsked))).toBe('protocol');
    await vi.waitFor(() => expect(server.open()).toBe(0), { timeout: 20_000 });
    expect(takerNotAsked).not.toHaveBeenCalled();
  });

  it('may follow a few interim responses, which its reader never sees', async () => {
    const server = await upstream(({ socket }) =>
      socket.write(`HTTP/1.1 103 Early Hints\r\nx-early: 1\r\n\r\n${rawAnswer('final', 'x-final: 1\r\n')}`),
    );
    const { head, text } = await taken(opened.egress(), callTo(server.port));
    expect(head).toEqual({
      status: 200,
      fields: [
        ['x-final', '1'],
        ['content-length', '5'],
      ],
    });
    expect(text).toBe('final');
  });

  it('may not pause for longer than the idle timeout, except while its reader does not read', async () => {
    const server = await upstream(({ socket, line }) => {
      const length = line.includes('held') ? 1_000_000 : 20;
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n${'x'.repeat(length - 10)}`);
      if (line.includes('held')) socket.write('x'.repeat(10));
    });
    const egress = opened.egress();
    const [held, stopped] = [new HeldTaker(), new HeldTaker()];
    stopped.release();
    // Long enough for what is on its way on a busy machine.
    const taking = egress.stream(callTo(server.port, { path: '/held', idleTimeoutMs: 400 }), () => held);
    await held.first;
    const call = egress.stream(callTo(server.port, { idleTimeoutMs: 500 }), () => stopped);
    expect(await failure(call)).toBe('timeout');
    expect(stopped.destroyed).toBe(true);
    expect(held.destroyed).toBe(false);
    held.release();
    await taking;
    expect(held.bytes).toBe(1_000_000);
  });

  it('has a maximum number of fields and a maximum size of its head', async () => {
    const fields = (count: number) => Array.from({ length: count }, (_, n) => `x-${n}: y\r\n`).join('');
    const server = await upstream(({ socket, line }) => {
      if (line.includes('megabyte')) socket.write(rawAnswer('big', `x: ${'y'.repeat(1024 * 1024)}\r\n`));
      else socket.write(rawAnswer('many', fields(Number(/\d+/.exec(line)?.[0]))));
    });
    const usual = opened.egress();
    const call = (path: string) => callTo(server.port, { path });
    expect(await failure(usual.stream(call('/300'), takerNotAsked))).toBe('protocol');
    expect(await failure(usual.stream(call('/megabyte'), takerNotAsked))).toBe('protocol');
    expect(takerNotAsked).not.toHaveBeenCalled();
    expect((await taken(usual, call('/199'))).head.fields).toHaveLength(200);
    expect(await failure(taken(usual, call('/200')))).toBe('protocol');
    const wider = opened.egress({ answerHead: { bytes: 32 * 1024, fields: 250 } });
    expect((await taken(wider, call('/249'))).head.fields).toHaveLength(250);
  });

  it.each([
    ['no HTTP', 'no HTTP at all\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxy'],
    [
      'length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a line folded into the next', 'HTTP/1.1 200 OK\r\nx-a: b\r\n c\r\ncontent-length: 0\r\n\r\n'],
    ['a name with a space', 'HTTP/1.1 200 OK\r\nx-a : b\r\ncontent-length: 0\r\n\r\n'],
    ['a bare NUL', 'HTTP/1.1 200 OK\r\nx-a: b\0c\r\ncontent-length: 0\r\n\r\n'],
    ['a control character', 'HTTP/1.1 200 OK\r\nx-a: \u0001\r\ncontent-length: 0\r\n\r\n'],
    ['a broken status', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['lines that end with CR', 'HTTP/1.1 200 OK\rx-a: b\rcontent-length: 0\r\r'],
  ])('must be HTTP: %s', async (_what, text) => {
    const server = await upstream(({ socket }) => socket.end(text, 'latin1'));
    expect(await failure(opened.egress().stream(callTo(server.port), takerNotAsked))).toBe('protocol');
    expect(takerNotAsked).not.toHaveBeenCalled();
  });

  it('does not switch to another protocol', async () => {
    const server = await upstream(({ socket }) =>
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\nfree',
      ),
    );
    expect(await failure(opened.egress().stream(callTo(server.port), takerNotAsked))).toMatch(
      /^(connect|protocol)$/,
    );
    expect(takerNotAsked).not.toHaveBeenCalled();
  });

  it('comes from the address that was checked, even if the resolver changes its answer (R10)', async () => {
    const named = opened.of(
      await countingServer((_req, res) => res.setHeader('connection', 'close').end('named')),
    );
    const other = opened.of(await countingServer((_req, res) => res.end('other'), { host: '127.0.0.2' }));
    const answers = [['127.0.0.1'], ['169.254.169.254'], ['127.0.0.2']];
    const egress = opened.egress({
      allow: ['127.0.0.1/32'],
      resolve: () => Promise.resolve(answers.shift() ?? []),
    });
    const call = (port: number) => ({ ...callTo(port), url: `http://rebind.example:${port}/` });
    expect((await taken(egress, call(named.port))).text).toBe('named');
    for (const { port } of [named, other])
      await expect(taken(egress, call(port))).rejects.toMatchObject({ reason: 'address' });
    expect([named.connections(), other.connections()]).toEqual([1, 0]);
  });

  it('comes from the host that its certificate names, whatever the environment says', async () => {
    const certificate = await testCertificate();
    const server = opened.of(await countingServer((_req, res) => res.end('secret'), { tls: certificate }));
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const egress = opened.egress({ resolve: () => Promise.resolve(['127.0.0.1']) });
    const call = (host: string) => ({ ...callTo(1), url: `https://${host}:${server.port}/` });
    expect(await failure(taken(egress, call('hook.test')))).toBe('tls');
    setDefaultCACertificates([certificate.cert]);
    expect(await failure(taken(egress, call('other.test')))).toBe('tls');
    expect((await taken(egress, call('hook.test'))).text).toBe('secret');
    vi.unstubAllEnvs();
  });
});
