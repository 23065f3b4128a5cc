import type { Clock } from '@svault/shared';

/** After the second failure in a row; doubled by each further one. */
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 10 * 60_000;
/** How long after its pause a series of failures ends; evicted when there are many keys. */
const EXPIRES_AFTER_MS = 3_600_000;
const EVICT_FROM_KEYS = 1_000;

interface Recorded<Failure> {
  readonly failure: Failure;
  readonly failures: number;
  /** Monotonic. */
  readonly untilMs: number;
}

/**
 * Returns the last failure for a while in place of another attempt. Without it a provider that is down for a minute would
 * cost a busy token all its refreshes of the hour. In memory, so a restart tries at once.
 */
export function createFailurePause<Failure>(clock: Pick<Clock, 'monotonic'>) {
  const recorded = new Map<string, Recorded<Failure>>();
  const evictExpired = (): void => {
    for (const [key, { untilMs }] of recorded)
      if (clock.monotonic() >= untilMs + EXPIRES_AFTER_MS) recorded.delete(key);
  };
  return {
    /** The failure to return now, if any. */
    failureOf: (key: string): Failure | undefined => {
      const last = recorded.get(key);
      return last !== undefined && clock.monotonic() < last.untilMs ? last.failure : undefined;
    },
    /** Records the result of an attempt; undefined for a success. */
    record: (key: string, failure: Failure | undefined): void => {
      if (failure === undefined) return void recorded.delete(key);
      if (recorded.size >= EVICT_FROM_KEYS && !recorded.has(key)) evictExpired();
      const failures = (recorded.get(key)?.failures ?? 0) + 1;
      const pauseMs = failures === 1 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (failures - 2), MAX_PAUSE_MS);
      recorded.set(key, { failure, failures, untilMs: clock.monotonic() + pauseMs });
    },
  };
}

export type FailurePause<Failure> = ReturnType<typeof createFailurePause<Failure>>;
