import type { Clock } from '@svault/shared';

/** Counts attempts in a sliding window of the monotonic clock, so that no jump of the wall clock opens it. */
export interface AttemptLimit {
  /** Counts an attempt; returns the whole seconds to wait (at least 1) where there were too many already. */
  take(): number | undefined;
}

/** At most `limit` attempts in any `windowMs`. Refused ones do not count. In the process alone: a restart forgets. */
export function createAttemptLimit(deps: {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly limit: number;
  readonly windowMs: number;
}): AttemptLimit {
  const { clock, limit, windowMs } = deps;
  let attempts: number[] = [];
  return {
    take: () => {
      const nowMs = clock.monotonic();
      attempts = attempts.filter((at) => nowMs - at < windowMs);
      const oldest = attempts[0];
      if (oldest === undefined || attempts.length < limit) {
        attempts.push(nowMs);
        return undefined;
      }
      return Math.max(1, Math.ceil((oldest + windowMs - nowMs) / 1000));
    },
  };
}
