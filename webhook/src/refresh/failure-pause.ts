import type { Clock } from '@svault/shared';
import type { RefreshResult } from './refresh-once.ts';

/** A refresh that failed for no fault of the refresh token. */
type Failure = Extract<RefreshResult, { outcome: 'failed' }>;

/** After the second failure in a row; doubled by each further one. */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 10 * 60_000;

/**
 * Answers those who need a token with the last failure for a while, instead of another call. Without it, a provider that
 * is away for a minute would cost a busy token all its calls of the hour. In memory: a restart tries at once.
 */
export interface FailurePause {
  /** The failure that holds now for this version. */
  failureOf(serviceName: string, version: number): Failure | undefined;
  note(serviceName: string, version: number, result: RefreshResult): void;
}

interface Noted {
  readonly version: number;
  readonly failure: Failure;
  readonly failures: number;
  readonly untilMs: number;
}

export function createFailurePause(clock: Pick<Clock, 'monotonic'>): FailurePause {
  const noted = new Map<string, Noted>();
  return {
    failureOf: (serviceName, version) => {
      const last = noted.get(serviceName);
      return last?.version === version && clock.monotonic() < last.untilMs ? last.failure : undefined;
    },
    note: (serviceName, version, result) => {
      if (result.outcome === 'limited') return;
      if (result.outcome !== 'failed') return void noted.delete(serviceName);
      const last = noted.get(serviceName);
      const failures = last?.version === version ? last.failures + 1 : 1;
      const pauseMs = failures === 1 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (failures - 2), LONGEST_PAUSE_MS);
      noted.set(serviceName, { version, failure: result, failures, untilMs: clock.monotonic() + pauseMs });
    },
  };
}
