import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { ClientWriter } from './stream-response.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A client, what it received, and the response that is written to it. */
async function exchange(): Promise<{ res: ServerResponse; received: IncomingMessage }> {
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
  res.writeHead(200).flushHeaders();
  const [received] = (await once(sent, 'response')) as [IncomingMessage];
  return { res, received };
}

it('ClientWriter waits for a slow client and passes everything on', async () => {
  const { res, received } = await exchange();
  const writer = new ClientWriter(res, 60_000);
  const piece = Buffer.alloc(1024 * 1024, 'x');
  // More than any buffer between the two takes.
  let isFull = false;
  for (let n = 0; n < 16; n++) isFull = !writer.write(piece) || isFull;
  writer.end();
  expect(isFull).toBe(true);
  expect(writer.writableFinished).toBe(false);
  let bytes = 0;
  received.on('data', (chunk: Buffer) => (bytes += chunk.length));
  await once(received, 'end');
  expect(bytes).toBe(16 * piece.length);
});

it('ClientWriter disconnects a client that takes nothing, midway and at the end', async () => {
  for (const atTheEnd of [true, false]) {
    const { res } = await exchange();
    const writer = new ClientWriter(res, 20);
    writer.write(Buffer.alloc(32 * 1024 * 1024));
    if (atTheEnd) writer.end();
    await once(writer, 'close');
    expect([writer.writableFinished, res.destroyed]).toEqual([false, true]);
  }
});

it('ClientWriter closes when the client disconnects', async () => {
  const { res, received } = await exchange();
  const writer = new ClientWriter(res, 60_000);
  writer.write('x');
  received.destroy();
  await once(writer, 'close');
  expect(writer.destroyed).toBe(true);
});

it('ClientWriter breaks the connection where the response breaks off, without throwing', async () => {
  const { res, received } = await exchange();
  const writer = new ClientWriter(res, 60_000);
  const closed = new Promise((resolve) => received.on('error', () => undefined).on('close', resolve));
  received.resume();
  writer.write('half');
  writer.destroy(new Error('the upstream is gone'));
  await closed;
  expect([received.complete, res.destroyed]).toEqual([false, true]);
});
