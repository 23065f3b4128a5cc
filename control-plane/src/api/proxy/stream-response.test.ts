import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createStreamResponse } from './stream-response.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A client, what it received, and the response that is written to it, whose head was sent. */
async function exchange(stalledMs = 60_000): Promise<{ res: ServerResponse; received: IncomingMessage }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sent = request({ port, host: '127.0.0.1', agent: false }).end();
  sent.on('error', () => undefined);
  closing.push(() => {
    sent.destroy();
    server.closeAllConnections();
    server.close();
  });
  const [, res] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  createStreamResponse({ stalledMs })(res)({ status: 200, fields: [] });
  const [received] = (await once(sent, 'response')) as [IncomingMessage];
  return { res, received };
}

it('A slow client gets the whole response', async () => {
  const { res, received } = await exchange();
  const piece = Buffer.alloc(1024 * 1024, 'x');
  // More than any buffer between the two takes.
  let isFull = false;
  for (let n = 0; n < 16; n++) isFull = !res.write(piece) || isFull;
  res.end();
  expect(isFull).toBe(true);
  expect(res.writableFinished).toBe(false);
  let bytes = 0;
  received.on('data', (chunk: Buffer) => (bytes += chunk.length));
  await once(received, 'end');
  expect(bytes).toBe(16 * piece.length);
});

it('A client that takes nothing is disconnected, midway and at the end, and one for which nothing waits is not', async () => {
  const waiting = await exchange(20);
  waiting.res.write('x');
  await once(waiting.received, 'data');
  for (const atTheEnd of [true, false]) {
    const { res } = await exchange(20);
    res.write(Buffer.alloc(32 * 1024 * 1024));
    if (atTheEnd) res.end();
    await once(res, 'close');
    expect([res.writableFinished, res.destroyed]).toEqual([false, true]);
  }
  expect(waiting.res.destroyed).toBe(false);
});

it('A response closes when its client disconnects', async () => {
  const { res, received } = await exchange();
  res.write('x');
  received.destroy();
  await once(res, 'close');
  expect(res.writableFinished).toBe(false);
});

it('A response that breaks off breaks the connection', async () => {
  const { res, received } = await exchange();
  const closed = new Promise((resolve) => received.on('error', () => undefined).on('close', resolve));
  received.resume();
  res.write('half');
  res.destroy();
  await closed;
  expect([received.complete, res.destroyed]).toEqual([false, true]);
});
