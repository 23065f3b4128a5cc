import type { Counter } from '../limits/limiter.ts';
import type { RateLimitSettings } from '../core/policy.ts';

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
