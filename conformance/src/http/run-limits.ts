import { NotTestable } from '../check/outcome.ts';
import { NoAnswer, type Client, type OpenAnswer } from './client.ts';

/** When a run gives up. */
export interface RunLimits {
  /** Time that may pass, in all, with waiting for answers that did not come. */
  readonly lostMs: number;
  /** Requests one after the other that may stay without an answer. */
  readonly unanswered: number;
  /** From the first request on: no request begins later. */
  readonly runMs: number;
}

/**
 * Enough for a webhook that hangs on one thing, and within a minute for one that hangs on everything. A whole run takes
 * a minute with a slow webhook.
 */
export const RUN_LIMITS: RunLimits = { lostMs: 45_000, unanswered: 12, runMs: 15 * 60_000 };

/**
 * A client that gives up: past its limits nothing is sent any more, so that a run ends in time whatever the
 * webhook does.
 * @param now milliseconds that only grow
 * @returns the same client, whose methods throw NotTestable from then on
 */
export function withRunLimits(client: Client, limits: RunLimits, now: () => number): Client {
  let startedAt: number | undefined;
  let lostMs = 0;
  let lostUntil = Number.NEGATIVE_INFINITY;
  let unanswered = 0;
  let gaveUp: string | undefined;

  const lost = (from: number, error: unknown): void => {
    if (!(error instanceof NoAnswer)) return;
    const until = now();
    // Requests that wait side by side lose their time once.
    lostMs += until - Math.max(from, lostUntil);
    lostUntil = until;
    unanswered += 1;
    const last = error.cause instanceof Error ? error.cause.message : error.message;
    if (lostMs >= limits.lostMs) gaveUp ??= `it left requests open for ${seconds(lostMs)}; ${last}`;
    if (unanswered >= limits.unanswered)
      gaveUp ??= `${unanswered} requests one after the other got no answer; ${last}`;
  };
  const begin = (): number => {
    const at = now();
    startedAt ??= at;
    if (at - startedAt > limits.runMs) gaveUp ??= `the run took longer than ${seconds(limits.runMs)}`;
    if (gaveUp !== undefined) throw new NotTestable(`the webhook stopped answering (${gaveUp})`);
    return at;
  };
  const bounded = async <T>(ask: () => Promise<T>): Promise<T> => {
    const from = begin();
    try {
      const answer = await ask();
      unanswered = 0;
      return answer;
    } catch (error) {
      lost(from, error);
      throw error;
    }
  };
  return {
    send: (request) => bounded(() => client.send(request)),
    open: (request) =>
      bounded(async (): Promise<OpenAnswer> => {
        const answer = await client.open(request);
        return { ...answer, pieces: counted(answer.pieces, now, lost) };
      }),
    close: () => client.close(),
  };
}

async function* counted(
  pieces: AsyncIterable<Uint8Array>,
  now: () => number,
  lost: (from: number, error: unknown) => void,
): AsyncIterable<Uint8Array> {
  const from = now();
  try {
    yield* pieces;
  } catch (error) {
    lost(from, error);
    throw error;
  }
}

const seconds = (ms: number): string => `${Math.round(ms / 1000)} seconds`;
