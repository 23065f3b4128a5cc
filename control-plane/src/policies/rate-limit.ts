import type { Counter } from '../limits/limiter.ts';

export interface RateLimitSettings {
  /** Requests within a window that begins with the first of them. */
  readonly limit: number;
  readonly windowSeconds: number;
}

/**
 * What the limiter is to count.
 *
 * @param target whose requests these are, unique within the account: a rule counts for each of its targets by itself
 */
export function rateCounter(
  { limit, windowSeconds }: RateLimitSettings,
  ruleId: string,
  target: { readonly type: string; readonly id: string },
): Counter {
  return {
    scope: 'rate_limit',
    key: `${ruleId} ${target.type} ${target.id}`,
    limit,
    windowMs: windowSeconds * 1_000,
  };
}
