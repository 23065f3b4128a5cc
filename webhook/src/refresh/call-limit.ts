import type { Clock } from '@svault/shared';

/** Protocol section 7: more than this many provider calls an hour for one token answer 429. */
const CALLS = 10;
const WINDOW_MS = 3_600_000;
/** Names are dropped once their hour is over, looked for when there are so many. */
const MANY_NAMES = 1_000;

/** The webhook's own bound on provider calls, whoever asks for them. In memory: a restart begins anew. */
export interface CallLimit {
  /** Seconds until another call is allowed; undefined: now. */
  retryAfterSeconds(serviceName: string): number | undefined;
  count(serviceName: string): void;
}

export function createCallLimit(clock: Pick<Clock, 'monotonic'>): CallLimit {
  const callsOf = new Map<string, number[]>();
  const recent = (calls: readonly number[]): number[] =>
    calls.filter((atMs) => atMs > clock.monotonic() - WINDOW_MS);
  const sweep = (): void => {
    for (const [name, calls] of callsOf) if (recent(calls).length === 0) callsOf.delete(name);
  };
  return {
    retryAfterSeconds: (serviceName) => {
      const calls = recent(callsOf.get(serviceName) ?? []);
      const oldest = calls.at(-CALLS);
      if (oldest === undefined) return undefined;
      return Math.max(1, Math.ceil((oldest + WINDOW_MS - clock.monotonic()) / 1000));
    },
    count: (serviceName) => {
      if (callsOf.size >= MANY_NAMES && !callsOf.has(serviceName)) sweep();
      callsOf.set(serviceName, [...recent(callsOf.get(serviceName) ?? []), clock.monotonic()]);
    },
  };
}
