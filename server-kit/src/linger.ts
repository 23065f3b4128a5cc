import type { Duplex, Readable } from 'node:stream';
import { freePiece } from './free-piece.ts';

/** A client that sends nothing for so long has stopped, and has had its answer. */
const SILENCE_MS = 2_000;
/** nginx's `lingering_time` is as long. */
const MAX_MS = 30_000;
const TURN_MS = 10;
/** Reads of 64 KiB at most, and ends, of all refused clients together: other requests are served between. */
const ACTIONS_PER_TURN = 16;

/** What is to be done for refused clients, in order, in the whole process. */
const queue = new Set<() => void>();
let turns: NodeJS.Timeout | undefined;

/**
 * Drops what a refused client still sends until it stops, for 30 s at most. Tearing a connection down while something comes
 * makes the client's system throw the answer away unread (RFC 9112 section 9.6), and a client that sends all of a large
 * request before it reads takes its time.
 *
 * @param stream what the bytes come from: the socket, or the request that Node parses out of it
 * @param over is called once, unless the connection closes first
 * @returns stops waiting
 */
export function linger(stream: Readable, socket: Duplex, over: () => void): () => void {
  const read = (): void => {
    silence = setTimeout(enqueue, SILENCE_MS, end);
    socket.resume();
  };
  const drop = (piece: Buffer): void => {
    freePiece(piece);
    clearTimeout(silence);
    // What came while this process had no time to look is no silence.
    queue.delete(end);
    // A socket that no parser reads would go on filling its buffer.
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
