import type { Duplex } from 'node:stream';

const LOOK_MS = 1_000;
/** As many looks in a row that find nothing new: the client has stopped sending, and has had its answer. */
const MAX_SILENT_LOOKS = 2;
/** nginx's `lingering_time` is as long. */
const MAX_LOOKS = 30;

/**
 * Waits for a refused client to stop sending, for 30 s at most. Tearing a connection down while something comes makes the
 * client's system throw the answer away unread (RFC 9112 section 9.6), and a client that sends all of a large request
 * before it reads takes its time.
 *
 * @param over is called once, unless the connection closes first
 * @returns stops waiting
 */
export function linger(socket: Duplex & { readonly bytesRead?: number }, over: () => void): () => void {
  let seen = socket.bytesRead;
  let silent = 0;
  let looks = 0;
  const look = (): void => {
    if (stopped) return;
    silent = socket.bytesRead === seen ? silent + 1 : 0;
    seen = socket.bytesRead;
    looks += 1;
    if (silent < MAX_SILENT_LOOKS && looks < MAX_LOOKS) return;
    stop();
    over();
  };
  let stopped = false;
  // A timer that is late is due before what came meanwhile is read: that is given its turn.
  const timer = setInterval(() => setImmediate(look), LOOK_MS);
  const stop = (): void => {
    stopped = true;
    clearInterval(timer);
  };
  socket.once('close', stop);
  return stop;
}
