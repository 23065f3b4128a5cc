import { once } from 'node:events';
import { type RequestListener, createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { meterResponses } from './metered-responses.ts';

async function startFixture(listener: RequestListener) {
  const counted: string[] = [];
  const timed: string[] = [];
  const server = createServer(
    meterResponses(listener, {
      endpointOf: (path) => path,
      responses: ({ endpoint, status }) => void counted.push(`${endpoint} ${status}`),
      responseSeconds: ({ endpoint }) => void timed.push(endpoint),
    }),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, counted, timed, close: () => server.close() };
}

it('a response is counted by the path without its query, however its head was written', async () => {
  const { url, counted, timed, close } = await startFixture((req, res) => {
    if (req.url === '/by-hand') return void res.writeHead(201, ['x-a', 'b']).end();
    res.statusCode = 418;
    res.end('?');
  });
  expect((await fetch(`${url}/by-hand`)).headers.get('x-a')).toBe('b');
  await (await fetch(`${url}/by-itself?ticket=secret`)).text();
  await expect.poll(() => counted).toEqual(['/by-hand 201', '/by-itself 418']);
  expect(timed).toEqual(['/by-hand', '/by-itself']);
  close();
});

it('a client that goes away before its response is counted once, and not timed', async () => {
  const arrived = Promise.withResolvers<void>();
  const { url, counted, timed, close } = await startFixture(() => arrived.resolve());
  const request = get(`${url}/slow`).on('error', () => undefined);
  await arrived.promise;
  request.destroy();
  await expect.poll(() => counted).toEqual(['/slow none']);
  expect(timed).toEqual([]);
  close();
});
