import type { Clock } from '@svault/shared';

/** Keys whose window is empty are dropped, once there are this many. */
const MANY_KEYS = 1_000;

/** At most `limit` events of a key in any `windowMs`, by the monotonic clock and in this process alone. */
export function createSlidingWindow(options: {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly limit: number;
  readonly windowMs: number;
}) {
  const { clock, limit, windowMs } = options;
  const eventsOf = new Map<string, readonly number[]>();
  const recent = (key: string): readonly number[] =>
    (eventsOf.get(key) ?? []).filter((atMs) => atMs > clock.monotonic() - windowMs);

  /** Whole seconds until another event is permitted (at least 1); undefined: now. */
  const retryAfterSeconds = (key: string): number | undefined => {
    const oldest = recent(key).at(-limit);
    if (oldest === undefined) return undefined;
    return Math.max(1, Math.ceil((oldest + windowMs - clock.monotonic()) / 1000));
  };
  const count = (key: string): void => {
    if (eventsOf.size >= MANY_KEYS && !eventsOf.has(key))
      for (const one of eventsOf.keys()) if (recent(one).length === 0) eventsOf.delete(one);
    eventsOf.set(key, [...recent(key), clock.monotonic()]);
  };
  /** Counts an event if it is permitted; otherwise returns {@link retryAfterSeconds}. */
  const take = (key: string): number | undefined => {
    const retryAfter = retryAfterSeconds(key);
    if (retryAfter === undefined) count(key);
    return retryAfter;
  };
  return { retryAfterSeconds, count, take };
}

export type SlidingWindow = ReturnType<typeof createSlidingWindow>;
