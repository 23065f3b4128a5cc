import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';

/** What a peer that speaks bare TCP got back; status 0 where the connection ended without an answer. */
export interface RawAnswer {
  readonly status: number;
  /** All of it, byte for byte. */
  readonly text: string;
  /** Status line and header. */
  readonly head: string;
  readonly body: string;
}

const STATUS_LINE = /^HTTP\/1\.1 (\d{3}) /;

/**
 * Sends bytes as they are and reads to the end of the connection, or to the end of the first answer that has a
 * `Content-Length`. A peer that refuses in the middle of a request may close under our writing; that is no error.
 *
 * @param pieces written one after another, as fast as the peer takes them, until it has answered
 */
export async function rawRequest(url: string, pieces: Iterable<string | Uint8Array>): Promise<RawAnswer> {
  const { port, hostname } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname });
  let received = '';
  const finished = new Promise<void>((resolve) => {
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      received += text;
      if (isComplete(received)) resolve();
    });
    socket.on('error', () => resolve());
    socket.on('close', () => resolve());
  });
  const isOver = finished.then(() => true);
  await Promise.race([once(socket, 'connect').catch(() => undefined), finished]);
  let written = 0;
  for (const piece of pieces) {
    // Small writes end at once, and nothing would be read between them: an answer that came would not be seen.
    if ((written += 1) % 100 === 0) await setImmediate();
    if (socket.destroyed || received !== '') break;
    const drained = new Promise<boolean>((resolve) => socket.write(piece, () => resolve(false)));
    if (await Promise.race([drained, isOver])) break;
  }
  await finished;
  socket.destroy();
  const end = received.indexOf('\r\n\r\n');
  return {
    status: Number(STATUS_LINE.exec(received)?.[1] ?? 0),
    text: received,
    head: received.slice(0, Math.max(end, 0)),
    body: received.slice(end + 4),
  };
}

function isComplete(received: string): boolean {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const length = /^content-length: (\d+)\r$/im.exec(received.slice(0, end + 2))?.[1];
  return length !== undefined && received.length >= end + 4 + Number(length);
}
