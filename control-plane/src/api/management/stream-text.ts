import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';

/** A client that takes nothing for this long has gone, whatever its connection says. */
const STALLED_MS = 60_000;

/**
 * Sends a text as its parts are made; it is JSON where no other `Content-Type` is set. Each part is asked for when there is
 * room for it, so that a slow client costs no memory; a client that goes, or stalls, ends the making. What fails before the
 * first part is answered like any other failure; later it breaks the connection, so that no client takes it for the whole.
 */
export async function streamText(
  res: Response,
  parts: AsyncIterable<string>,
  stalledMs = STALLED_MS,
): Promise<void> {
  const iterator = parts[Symbol.asyncIterator]();
  const first = await iterator.next();
  res.status(200);
  if (!res.hasHeader('content-type')) res.type('application/json');
  // Nobody reads what a text that can be of any size would say.
  if (res.req.method === 'HEAD') {
    await iterator.return?.();
    return void res.end();
  }
  res.setTimeout(stalledMs, () => res.destroy());
  const all = async function* (): AsyncGenerator<string> {
    try {
      for (let part = first; part.done !== true; part = await iterator.next()) yield part.value;
    } finally {
      await iterator.return?.();
    }
  };
  try {
    await pipeline(Readable.from(all(), { highWaterMark: 1 }), res);
  } catch (error) {
    if (!wentAway(error)) throw error;
  }
}

const wentAway = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
