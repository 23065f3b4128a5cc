import type { Duplex, Readable } from 'node:stream';

/** A client that sends nothing for this long has finished, and has its response. */
const SILENCE_MS = 2_000;
/** nginx's `lingering_time` is as long. */
const MAX_MS = 30_000;
const TURN_MS = 10;
/** Reads (up to 64 KiB) and ends of all rejected clients together, so that other requests are served between them. */
const ACTIONS_PER_TURN = 16;

/** The pending actions for rejected clients of the whole process, in order. */
const queue = new Set<() => void>();
let turns: NodeJS.Timeout | undefined;

/**
 * Drops what a rejected client still sends until it stops, for 30 s at most (nginx's lingering close). Closing a connection
 * over unread data makes the client's system discard the response (RFC 9112 section 9.6).
 * @param stream the source of the bytes: the socket, or its request
 * @param over called once, unless the connection closes first
 * @returns stops lingering
 */
export function linger(stream: Readable, socket: Duplex, over: () => void): () => void {
  const read = (): void => {
    silence = setTimeout(enqueue, SILENCE_MS, end);
    socket.resume();
  };
  const drop = (chunk: Buffer): void => {
    freeChunk(chunk);
    clearTimeout(silence);
    // Data that arrived while the event loop was blocked ends the silence.
    queue.delete(end);
    // A paused socket without a parser would go on filling its buffer.
    if (stream === socket) return read();
    socket.pause();
    enqueue(read);
  };
  const end = (): void => {
    stop();
    over();
  };
  const endAtLast = (): void => end();
  const stop = (): void => {
    clearTimeout(silence);
    clearTimeout(atLast);
    for (const action of [read, end, endAtLast]) queue.delete(action);
    stream.off('data', drop);
  };
  let silence = setTimeout(enqueue, SILENCE_MS, end);
  const atLast = setTimeout(enqueue, MAX_MS, endAtLast);
  socket.once('close', stop);
  stream.on('data', drop).resume();
  return stop;
}

function enqueue(action: () => void): void {
  queue.add(action);
  turns ??= setInterval(takeTurn, TURN_MS);
}

function takeTurn(): void {
  let left = ACTIONS_PER_TURN;
  for (const action of queue) {
    if (left === 0) return;
    left -= 1;
    queue.delete(action);
    action();
  }
  clearInterval(turns);
  turns = undefined;
}

/**
 * Frees the memory of a chunk that has a buffer to itself; the chunk is empty from then on. Otherwise some hundred rejected
 * clients would hold tens of MiB until the next garbage collection.
 */
export function freeChunk({ buffer, byteLength }: Buffer): void {
  if (buffer.byteLength === byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
