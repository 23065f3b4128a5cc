import { setTimeout as sleep } from 'node:timers/promises';
import type { Invocation } from '../invocation.ts';
import type { IncomingAnswer, OutgoingRequest } from './outgoing-request.ts';
import { send } from './send.ts';

/** Tries of a GET in all. */
const TRIES = 4;
const FIRST_PAUSE_MS = 500;
/** A wait longer than this is the caller's to decide about. */
const LONGEST_PAUSE_MS = 65_000;

/**
 * As `send`; a GET that is answered 429 is sent again, after `Retry-After` or a pause that doubles (specification, "CLI exit
 * codes"). Anything else is sent once: nobody can tell what a second one would do.
 */
export async function sendPatiently(
  invocation: Invocation,
  request: OutgoingRequest,
): Promise<IncomingAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await send(invocation, request);
    if (request.method !== 'GET' || answer.status !== 429 || attempt === TRIES) return answer;
    const pauseMs = pauseAfter(answer, attempt);
    if (pauseMs > LONGEST_PAUSE_MS) return answer;
    invocation.terminal.err(`too many requests; again in ${Math.ceil(pauseMs / 1_000)} s\n`);
    await sleep(pauseMs, undefined, { signal: invocation.signal });
  }
}

function pauseAfter({ headers }: IncomingAnswer, attempt: number): number {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const pauseMs = FIRST_PAUSE_MS * 2 ** (attempt - 1);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.max(seconds * 1_000, pauseMs) : pauseMs;
}
