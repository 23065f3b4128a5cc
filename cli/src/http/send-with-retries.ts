import { setTimeout as sleep } from 'node:timers/promises';
import type { Invocation } from '../invocation.ts';
import type { IncomingAnswer, OutgoingRequest } from './send.ts';

const TRIES = 4;
const FIRST_PAUSE_MS = 500;
/** A wait longer than this is the caller's to decide about. */
const MAX_PAUSE_MS = 65_000;

/**
 * As `send`; a GET that is answered 429 is sent again, after `Retry-After` or a pause that doubles ("CLI exit codes"). Anything
 * else is sent once, since a second one could repeat its effect.
 */
export async function sendWithRetries<Answer extends IncomingAnswer = IncomingAnswer>(
  invocation: Invocation,
  request: OutgoingRequest,
  sendOnce: (invocation: Invocation, request: OutgoingRequest) => Promise<Answer>,
): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await sendOnce(invocation, request);
    const pauseMs = request.method === 'GET' ? pauseAfter(answer, attempt) : undefined;
    if (pauseMs === undefined) return answer;
    invocation.terminal.err(`too many requests; again in ${Math.ceil(pauseMs / 1_000)} s\n`);
    await sleep(pauseMs, undefined, { signal: invocation.signal });
  }
}

/**
 * How long to wait before a GET is sent again, in milliseconds; undefined where its answer is final.
 * @param attempt how often it was sent, from 1 on
 */
export function pauseAfter(
  { status, headers }: Pick<IncomingAnswer, 'status' | 'headers'>,
  attempt: number,
): number | undefined {
  if (status !== 429 || attempt >= TRIES) return undefined;
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const ownMs = FIRST_PAUSE_MS * 2 ** (attempt - 1);
  const pauseMs = Number.isFinite(seconds) && seconds >= 0 ? Math.max(seconds * 1_000, ownMs) : ownMs;
  return pauseMs > MAX_PAUSE_MS ? undefined : pauseMs;
}
