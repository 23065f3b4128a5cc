import { QUOTAS, type QuotaNoun, quotaScope } from '../core/quotas.ts';
import type { Counter } from './limiter.ts';
import { type CountedScope, type LimitScope, SCOPES, type ScopeLimit, aggregateLimit } from './scopes.ts';

/** The limits in force: the specification's, with the operator's overrides. */
export type Limits = ReturnType<typeof createLimits>;

/** @param overrides from the settings `SV_LIMIT_<SCOPE>`: another count within the same window */
export function createLimits(overrides: Partial<Readonly<Record<LimitScope, number>>>) {
  const of = (scope: CountedScope): ScopeLimit => ({
    ...SCOPES[scope],
    limit: overrides[scope] ?? SCOPES[scope].limit,
  });
  return {
    of,
    /** The account's aggregate limit per minute. */
    aggregate: (account: Parameters<typeof aggregateLimit>[0]): number =>
      overrides.user_aggregate ?? aggregateLimit(account),
    /** How many resources of a kind an account may have. */
    quota: (noun: QuotaNoun): number => overrides[quotaScope(noun)] ?? QUOTAS[noun],
    /** A scope's counter for one key. */
    counter: (scope: CountedScope, key: string): Counter => ({ scope, key, ...of(scope) }),
  };
}
