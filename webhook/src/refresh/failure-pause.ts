import type { Clock } from '@svault/shared';
import type { RefreshResult } from './refresh-once.ts';

/** A refresh that failed for no fault of the refresh token. */
type Failure = Extract<RefreshResult, { outcome: 'failed' }>;

/** After the second failure in a row; doubled by each further one. */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 10 * 60_000;
/** So long after a pause its failures count as a row no more; looked for when there are so many names. */
const FORGOTTEN_AFTER_MS = 3_600_000;
const MANY_NAMES = 1_000;

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
  const sweep = (): void => {
    for (const [name, { untilMs }] of noted)
      if (clock.monotonic() >= untilMs + FORGOTTEN_AFTER_MS) noted.delete(name);
  };
  return {
    failureOf: (serviceName, version) => {
      const last = noted.get(serviceName);
      return last?.version === version && clock.monotonic() < last.untilMs ? last.failure : undefined;
    },
    note: (serviceName, version, result) => {
      if (result.outcome === 'limited') return;
      if (result.outcome !== 'failed') return void noted.delete(serviceName);
      if (noted.size >= MANY_NAMES && !noted.has(serviceName)) sweep();
      const last = noted.get(serviceName);
      const failures = last?.version === version ? last.failures + 1 : 1;
      const pauseMs = failures === 1 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (failures - 2), LONGEST_PAUSE_MS);
      noted.set(serviceName, { version, failure: result, failures, untilMs: clock.monotonic() + pauseMs });
    },
  };
}
