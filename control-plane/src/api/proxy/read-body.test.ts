import { once } from 'node:events';
import { type IncomingMessage, createServer } from 'node:http';
import { type AddressInfo, type Socket, connect } from 'node:net';
import type { Id } from '@svault/shared';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createBodyMemory, createOpenStreams } from '../../access/concurrency-limits.ts';
import type { Admittance } from '../../access/decision.ts';
import { receiveBody } from './read-body.ts';

// Whoever is let in here takes the one place that there is, and has room for 100,000 bytes of body.

const VAULT = 'vlt_1' as Id<'vlt'>;
const PROXY = { vaultId: VAULT, proxyId: 'prx_1' as Id<'prx'> };
const LARGE = 100_000;

let streams: ReturnType<typeof createOpenStreams>;
let bodies: ReturnType<typeof createBodyMemory>;
/** What happens between the question who it is and its answer, and whether that was asked. */
let lookUp: () => Promise<void>;
let outcome: Promise<Awaited<ReturnType<typeof receiveBody>> | Error>;

const admit = async (_keyHash: string, bytes: number): Promise<Admittance> => {
  await lookUp();
  const [stream, room] = [streams.open(PROXY), bodies.reserve(VAULT, bytes)];
  if (stream === undefined || room === undefined) throw new Error('no place was given back');
  return { outcome: 'admitted', stream, room };
};
const receive = (req: IncomingMessage, keyHash: string) =>
  receiveBody({ admit }, req, keyHash, { requestId: 'req_1' });

let heard: (req: IncomingMessage) => void;
const server = createServer((req) => heard(req));
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  streams = createOpenStreams({ maxPerProxy: 1 });
  bodies = createBodyMemory({ maxBytes: LARGE, maxBytesPerAccount: LARGE });
  lookUp = () => Promise.resolve();
});

/** Sends a head and some of its body. */
async function send(head: string, bytes: number): Promise<Socket> {
  const arrived = new Promise<IncomingMessage>((resolve) => (heard = resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${head}\r\n\r\n`);
  socket.write(Buffer.alloc(bytes));
  outcome = receive(await arrived, 'hash').catch((error: unknown) => error as Error);
  return socket;
}
const placesAreFree = (): void => {
  const [stream, room] = [streams.open(PROXY), bodies.reserve(VAULT, LARGE)];
  expect([stream, room]).not.toContain(undefined);
};

it('a small body needs no admission and reserves nothing', async () => {
  lookUp = () => Promise.reject(new Error('asked'));
  const socket = await send('Content-Length: 65536', 65_536);
  expect(await outcome).toMatchObject({ outcome: 'received', body: { byteLength: 65_536 } });
  placesAreFree();
  socket.destroy();
});

it('a large body counts as a stream while it is received, and reserves memory until it is released', async () => {
  const socket = await send(`Content-Length: ${LARGE}`, LARGE);
  const received = await outcome;
  expect(received).toMatchObject({ outcome: 'received', body: { byteLength: LARGE } });
  const stream = streams.open(PROXY);
  expect(stream).toBeDefined();
  stream?.close();
  expect(bodies.reserve(VAULT, 1)).toBeUndefined();
  if ('release' in received) received.release();
  placesAreFree();
  socket.destroy();
});

it('a body that is admitted after its sender disconnected reserves nothing', async () => {
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  lookUp = () => (asked.resolve(), answered.promise);
  const socket = await send(`Content-Length: ${LARGE}`, LARGE - 1);
  await asked.promise;
  socket.resetAndDestroy();
  expect(await outcome).toMatchObject({ code: 'INVALID_REQUEST' });
  answered.resolve();
  // The place is taken, and given back, in the turns that follow the answer.
  await new Promise((resolve) => setImmediate(resolve));
  placesAreFree();
});

it('a body whose sender disconnects midway reserves nothing', async () => {
  const asked = Promise.withResolvers<void>();
  lookUp = async () => asked.resolve();
  const socket = await send(`Content-Length: ${LARGE}`, LARGE - 1);
  await asked.promise;
  socket.resetAndDestroy();
  expect(await outcome).toMatchObject({ code: 'INVALID_REQUEST' });
  await new Promise((resolve) => setImmediate(resolve));
  placesAreFree();
});
