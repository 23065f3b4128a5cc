import type { Ending } from '@svault/shared';
import { once } from 'node:events';
import { type ServerResponse, createServer } from 'node:http';
import { type AddressInfo, type Socket, connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { abortOnDisconnect } from './streamed-response.ts';

const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

let heard: (exchange: { readonly res: ServerResponse; readonly gone: Ending }) => void;
const server = createServer((_req, res) => heard({ res, gone: abortOnDisconnect(res) }));
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Sends so many requests on one connection at once. */
async function ask(count: number) {
  const exchanges: Parameters<typeof heard>[0][] = [];
  const all = new Promise<void>((resolve) => {
    heard = (exchange) => void (exchanges.push(exchange) === count && resolve());
  });
  const socket: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(REQUEST.repeat(count));
  await all;
  return { socket, exchanges };
}
const aborted = async (gone: Ending): Promise<void> => {
  if (!gone.aborted) await new Promise<void>((resolve) => gone.addEventListener('abort', resolve));
};

it('abortOnDisconnect aborts for a response in progress, and for those pipelined behind it', async () => {
  const { socket, exchanges } = await ask(3);
  exchanges[0]?.res.write('begun');
  socket.destroy();
  await Promise.all(exchanges.map(({ gone }) => aborted(gone)));
});

it('abortOnDisconnect does not abort after a whole response', async () => {
  const { socket, exchanges } = await ask(1);
  const [exchange] = exchanges;
  exchange?.res.end('whole');
  await once(socket, 'data');
  const connection = exchange?.res.req.socket;
  socket.destroy();
  if (connection?.destroyed === false) await once(connection, 'close');
  expect(exchange?.gone.aborted).toBe(false);
});
