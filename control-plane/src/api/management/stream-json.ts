import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';

/** A client that takes nothing for this long has gone, whatever its connection says. */
const STALLED_MS = 60_000;

/**
 * Sends a JSON text as its parts are made. Each part is asked for when there is room for it, so that a slow client costs
 * no memory; a client that goes, or stalls, ends the making. What fails before the first part is answered like any other
 * failure; later it breaks the connection, and the text that was sent is no JSON.
 */
export async function streamJson(
  res: Response,
  parts: AsyncIterable<string>,
  stalledMs = STALLED_MS,
): Promise<void> {
  const iterator = parts[Symbol.asyncIterator]();
  const first = await iterator.next();
  res.status(200).type('application/json');
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
