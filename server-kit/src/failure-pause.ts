import type { Clock } from '@svault/shared';

/** After the second failure in a row; doubled by each further one. */
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 10 * 60_000;
/** So long after a pause its failures count as a row no more; looked for when there are so many keys. */
const FORGOTTEN_AFTER_MS = 3_600_000;
const MANY_KEYS = 1_000;

/**
 * Answers those who need something at once with the last failure for a while, instead of another try. Without it, a
 * provider that is away for a minute would cost a busy token all its refreshes of the hour. In memory: a restart tries at
 * once.
 */
export interface FailurePause<Failure> {
  /** The failure that holds now. */
  failureOf(key: string): Failure | undefined;
  /** What came of a try; undefined: it succeeded. */
  note(key: string, failure: Failure | undefined): void;
}

interface Noted<Failure> {
  readonly failure: Failure;
  readonly failures: number;
  /** Monotonic. */
  readonly untilMs: number;
}

export function createFailurePause<Failure>(clock: Pick<Clock, 'monotonic'>): FailurePause<Failure> {
  const noted = new Map<string, Noted<Failure>>();
  const sweep = (): void => {
    for (const [key, { untilMs }] of noted)
      if (clock.monotonic() >= untilMs + FORGOTTEN_AFTER_MS) noted.delete(key);
  };
  return {
    failureOf: (key) => {
      const last = noted.get(key);
      return last !== undefined && clock.monotonic() < last.untilMs ? last.failure : undefined;
    },
    note: (key, failure) => {
      if (failure === undefined) return void noted.delete(key);
      if (noted.size >= MANY_KEYS && !noted.has(key)) sweep();
      const failures = (noted.get(key)?.failures ?? 0) + 1;
      const pauseMs = failures === 1 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (failures - 2), MAX_PAUSE_MS);
      noted.set(key, { failure, failures, untilMs: clock.monotonic() + pauseMs });
    },
  };
}
