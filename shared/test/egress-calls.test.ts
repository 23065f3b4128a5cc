import { createServer } from 'node:net';
import { once } from 'node:events';
import { setDefaultCACertificates } from 'node:tls';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Egress, EgressRequest } from '@svault/shared/egress';
import { type CountingServer, countingServer } from './counting-server.ts';
import { Opened, failure } from './stream-calls.ts';
import { testCertificate } from './test-certificate.ts';

describe('egress', () => {
  const opened = new Opened();
  afterEach(async () => {
    vi.unstubAllEnvs();
    await opened.close();
  });
  const egressOf = (options: Parameters<Opened['egress']>[0]): Egress => opened.egress(options);
  const serverOf = async (...args: Parameters<typeof countingServer>): Promise<CountingServer> =>
    opened.of(await countingServer(...args));
  const get = (url: string, more: Partial<EgressRequest> = {}): EgressRequest => ({
    method: 'GET',
    url,
    timeoutMs: 20_000,
    ...more,
  });
  it('sends method, path, query, headers and body and returns status, headers and body', async () => {
    const server = await serverOf((req, res) => {
      const chunks: Buffer[] = [];
      req.on('data', (chunk: Buffer) => chunks.push(chunk));
      req.on('end', () => {
        res.writeHead(201, [
          ['x-echo', String(req.headers['x-given'])],
          ['x-two', 'a'],
          ['x-two', 'b'],
        ]);
        res.end(`${req.method} ${req.url} ${req.headers.host} ${Buffer.concat(chunks).toString()}`);
      });
    });
    const answer = await opened.egress().request({
      method: 'POST',
      url: `http://127.0.0.1:${server.port}/a/b?c=d#fragment`,
      headers: { 'x-given': 'yes' },
      body: 'hello',
      timeoutMs: 20_000,
    });
    expect(answer.status).toBe(201);
    expect(answer.headers).toMatchObject({ 'x-echo': 'yes', 'x-two': 'a, b' });
    expect(answer.body.toString()).toBe(`POST /a/b?c=d 127.0.0.1:${server.port} hello`);
  });

  it('connects to the address that it has checked, even if the resolver changes its answer (R10)', async () => {
    const named = await serverOf((_req, res) => res.end('named'));
    const other = await serverOf((_req, res) => res.end('other'), { host: '127.0.0.2' });
    const answers = [['127.0.0.1'], ['169.254.169.254'], ['127.0.0.2']];
    const asked: string[] = [];
    const resolve = (host: string) => {
      asked.push(host);
      return Promise.resolve(answers.shift() ?? []);
    };
    const egress = egressOf({ allow: ['127.0.0.1/32'], resolve });
    const answer = await egress.request(
      get(`http://rebind.example:${named.port}/`, { headers: { connection: 'close' } }),
    );
    expect(answer.body.toString()).toBe('named');
    expect(asked).toEqual(['rebind.example']);
    await expect(egress.request(get(`http://rebind.example:${named.port}/`))).rejects.toMatchObject({
      reason: 'address',
    });
    await expect(egress.request(get(`http://rebind.example:${other.port}/`))).rejects.toMatchObject({
      reason: 'address',
    });
    expect(named.connections()).toBe(1);
    expect(other.connections()).toBe(0);
  });

  it('reaches a host that the operator allows, whatever its address', async () => {
    const server = await serverOf((req, res) => res.end(req.headers.host));
    const egress = egressOf({ allow: ['hook.internal'], resolve: () => Promise.resolve(['127.0.0.1']) });
    const answer = await egress.request(get(`http://hook.internal:${server.port}/`));
    expect(answer.body.toString()).toBe(`hook.internal:${server.port}`);
  });

  it('tries the next address of a name when the first does not answer', async () => {
    const server = await serverOf((_req, res) => res.end('second'));
    const egress = egressOf({ resolve: () => Promise.resolve(['127.0.0.3', '127.0.0.1']) });
    const answer = await egress.request(get(`http://two.example:${server.port}/`));
    expect(answer.body.toString()).toBe('second');
  });

  it('follows no redirect', async () => {
    const target = await serverOf((_req, res) => res.end('reached'));
    const server = await serverOf((_req, res) =>
      res.writeHead(307, { location: `http://127.0.0.1:${target.port}/` }).end(),
    );
    const answer = await opened.egress().request(get(`http://127.0.0.1:${server.port}/`));
    expect(answer).toMatchObject({ status: 307, headers: { location: `http://127.0.0.1:${target.port}/` } });
    expect(target.connections()).toBe(0);
  });

  it('ignores proxy variables of the environment', async () => {
    const proxy = await serverOf((_req, res) => res.end('by the proxy'));
    const server = await serverOf((_req, res) => res.end('direct'));
    for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY'])
      vi.stubEnv(name, `http://127.0.0.1:${proxy.port}`);
    vi.stubEnv('NODE_USE_ENV_PROXY', '1');
    const answer = await opened.egress().request(get(`http://127.0.0.1:${server.port}/`));
    expect(answer.body.toString()).toBe('direct');
    expect(proxy.connections()).toBe(0);
  });

  it('makes a call that must not be repeated on a new connection', async () => {
    const server = await serverOf((_req, res) => res.end('x'));
    const egress = opened.egress();
    for (let n = 0; n < 3; n++)
      await egress.request(get(`http://127.0.0.1:${server.port}/`, { alone: true }));
    expect(server.connections()).toBe(3);
  });

  it('reuses a connection', async () => {
    const server = await serverOf((_req, res) => res.end('ok'));
    const egress = opened.egress();
    for (let call = 0; call < 20; call++)
      await egress.request(get(`http://127.0.0.1:${server.port}/${call}`));
    expect(server.connections()).toBeLessThan(5);
  });

  it('accepts a body of exactly the maximum and not a byte more', async () => {
    const server = await serverOf((req, res) => res.end('x'.repeat(Number(req.url?.slice(1)))));
    const egress = opened.egress();
    const call = (bytes: number) =>
      egress.request(get(`http://127.0.0.1:${server.port}/${bytes}`, { maxBytes: 1000 }));
    expect((await call(1000)).body.byteLength).toBe(1000);
    expect(await failure(call(1001))).toBe('too_large');
  });

  it('does not read a body whose declared length is larger', async () => {
    const server = await serverOf((_req, res) => {
      // None of it ever comes.
      res.writeHead(200, { 'content-length': '5000000' }).flushHeaders();
    });
    const egress = opened.egress();
    expect(await failure(egress.request(get(`http://127.0.0.1:${server.port}/`)))).toBe('too_large');
  });

  it('accepts eight interim responses and no more', async () => {
    const server = await serverOf((req, res) => {
      for (let left = Number(req.url?.slice(1)); left > 0; left--) res.writeProcessing();
      res.end('there');
    });
    const egress = opened.egress();
    const after = (interim: number) => egress.request(get(`http://127.0.0.1:${server.port}/${interim}`));
    expect((await after(8)).body.toString()).toBe('there');
    expect(await failure(after(9))).toBe('protocol');
  });

  it('stops reading a body that does not end', async () => {
    let closed: () => void;
    const stopped = new Promise<void>((resolve) => (closed = resolve));
    const server = await serverOf((_req, res) => {
      const more = (): void => {
        while (!res.destroyed && res.write('x'.repeat(64 * 1024)));
      };
      res.on('drain', more);
      res.on('close', () => closed());
      more();
    });
    const call = opened.egress().request(get(`http://127.0.0.1:${server.port}/`));
    expect(await failure(call)).toBe('too_large');
    await stopped;
  });

  it('does not decode a content coding, so that a small response stays small', async () => {
    const server = await serverOf((_req, res) => res.setHeader('content-encoding', 'gzip').end('not gzip'));
    const answer = await opened.egress().request(get(`http://127.0.0.1:${server.port}/`));
    expect(answer.body.toString()).toBe('not gzip');
  });

  it('times out without a response, and with a response that does not end', async () => {
    const server = await serverOf((req, res) => {
      if (req.url === '/half') res.writeHead(200).write('half');
    });
    const egress = opened.egress();
    for (const path of ['/none', '/half']) {
      expect(
        await failure(egress.request(get(`http://127.0.0.1:${server.port}${path}`, { timeoutMs: 50 }))),
      ).toBe('timeout');
    }
  });

  it('stops when the caller aborts', async () => {
    const caller = new AbortController();
    const server = await serverOf(() => caller.abort());
    const call = opened.egress().request(get(`http://127.0.0.1:${server.port}/`, { signal: caller.signal }));
    expect(await failure(call)).toBe('aborted');
  });

  it('distinguishes no connection, a broken one, a response that is not HTTP, and no address', async () => {
    const gone = await countingServer((_req, res) => res.end());
    await gone.close();
    const breaking = await serverOf((req) => req.socket.destroy());
    const garbage = createServer((socket) => {
      socket.once('data', () => socket.end('no HTTP at all\r\n\r\n'));
    }).listen(0, '127.0.0.1');
    await once(garbage, 'listening');
    opened.of(garbage);
    const { port } = garbage.address() as { port: number };
    const egress = egressOf({ resolve: () => Promise.resolve([]) });
    expect(await failure(egress.request(get(`http://127.0.0.1:${gone.port}/`)))).toBe('connect');
    expect(await failure(egress.request(get(`http://127.0.0.1:${breaking.port}/`)))).toBe('connect');
    expect(await failure(egress.request(get(`http://127.0.0.1:${port}/`)))).toBe('protocol');
    expect(await failure(egress.request(get('https://nowhere.example/')))).toBe('dns');
  });

  it('rejects an untrusted certificate, whatever the environment says', async () => {
    const certificate = await testCertificate();
    const server = await serverOf((_req, res) => res.end('secret'), { tls: certificate });
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const egress = egressOf({ resolve: () => Promise.resolve(['127.0.0.1']) });
    expect(await failure(egress.request(get(`https://hook.test:${server.port}/`)))).toBe('tls');
  });

  it('checks the certificate against the name, not against the address it connects to', async () => {
    const certificate = await testCertificate();
    setDefaultCACertificates([certificate.cert]);
    const server = await serverOf((_req, res) => res.end('by name'), { tls: certificate });
    const egress = egressOf({ resolve: () => Promise.resolve(['127.0.0.1']) });
    const answer = await egress.request(get(`https://hook.test:${server.port}/`));
    expect(answer.body.toString()).toBe('by name');
    expect(await failure(egress.request(get(`https://other.test:${server.port}/`)))).toBe('tls');
  });

  it('sends nothing of a call that is not valid HTTP', async () => {
    const server = await serverOf((_req, res) => res.end());
    const egress = opened.egress();
    for (const headers of [{ 'x-a': 'b\r\nx-c: d' }, { 'x a': 'b' }, { 'x-a': 'b\0' }]) {
      expect(await failure(egress.request(get(`http://127.0.0.1:${server.port}/`, { headers })))).toMatch(
        /^another error/,
      );
    }
    expect(server.connections()).toBe(0);
  });

  it('does not let a caller set Host', async () => {
    const egress = opened.egress();
    await expect(
      egress.request(get('http://127.0.0.1:1/', { headers: { Host: 'evil.example' } })),
    ).rejects.toThrow(RangeError);
  });
});
