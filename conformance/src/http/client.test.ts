import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createClient, NoAnswer, type Client } from './client.ts';

let server: Server | undefined;
let client: Client | undefined;
const sockets = new Set<Socket>();
afterEach(async () => {
  client?.close();
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
});

interface Heard {
  connections: number;
  /** Everything that was received, by connection. */
  readonly texts: string[];
}

/** A server on the level of sockets. */
async function listen(speak: (socket: Socket, heard: string) => void, timeoutMs = 2000): Promise<Heard> {
  const heard: Heard = { connections: 0, texts: [] };
  server = createServer((socket) => {
    const at = heard.connections++;
    sockets.add(socket);
    heard.texts[at] = '';
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.on('data', (piece) => {
      heard.texts[at] += piece.toString('latin1').slice(0, 2000);
      speak(socket, heard.texts[at] ?? '');
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  client = createClient({
    webhookUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    timeoutMs,
  });
  return heard;
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}';
const POST = { method: 'POST', path: '/v1/health' } as const;

test('an empty POST has a Content-Length of 0, since small servers cannot read chunks', async () => {
  const heard = await listen((socket) => socket.write(OK));
  await client?.send(POST);
  expect(heard.texts[0]?.toLowerCase()).toContain('content-length: 0\r\n');
  expect(heard.texts[0]?.toLowerCase()).not.toContain('transfer-encoding');
});

test('a request may set its own framing headers', async () => {
  const heard = await listen((socket) => socket.write(OK));
  await client?.send({ ...POST, headers: [['Content-Length', '2']], body: '{}' });
  expect(heard.texts[0]?.match(/content-length/gi)).toHaveLength(1);
});

test('each request has a new connection, even if the server keeps the last one open', async () => {
  const heard = await listen((socket) => socket.write(OK));
  for (let count = 0; count < 3; count++) await client?.send(POST);
  expect(heard.connections).toBe(3);
});

test('a request whose connection is dropped is not repeated, since it may have been processed', async () => {
  const heard = await listen((socket) => socket.resetAndDestroy());
  await expect(client?.send(POST)).rejects.toThrow(NoAnswer);
  expect(heard.connections).toBe(1);
});

test.each([
  ['closes', (socket: Socket) => socket.end()],
  ['resets the connection', (socket: Socket) => setImmediate(() => socket.resetAndDestroy())],
  ['reads no further', (socket: Socket) => socket.pause()],
])('a rejection by the declared length is received, even if the server then %s', async (_, leave) => {
  let answered = false;
  await listen((socket) => {
    if (answered) return;
    answered = true;
    socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\n{}', () => leave(socket));
  });
  const answer = await client?.send({ ...POST, body: new Uint8Array(8 * 1024 * 1024) });
  expect(answer?.status).toBe(413);
});

test('a response may end with its connection, as in HTTP/1.0', async () => {
  await listen((socket) => socket.end('HTTP/1.0 200 OK\r\nServer: SimpleHTTP\r\n\r\n{"status":"ok"}'));
  const answer = await client?.send(POST);
  expect(Buffer.from(answer?.body ?? []).toString()).toBe('{"status":"ok"}');
});

test('a response that is still open after the timeout is rejected', async () => {
  await listen((socket) => socket.write('HTTP/1.0 200 OK\r\n\r\n{"status":'), 100);
  await expect(client?.send(POST)).rejects.toMatchObject({ name: 'NoAnswer', timedOut: true });
});

test('a large body arrives complete', async () => {
  const bytes = 3 * 1024 * 1024;
  let received = 0;
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.on('data', (piece) => {
      received += piece.byteLength;
      if (received > bytes) socket.end(OK);
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  client = createClient({
    webhookUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    timeoutMs: 5000,
  });
  expect(await client.send({ ...POST, body: new Uint8Array(bytes) })).toMatchObject({ status: 200 });
});
