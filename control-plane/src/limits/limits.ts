import { QUOTAS, type QuotaNoun, quotaScope } from '../core/quotas.ts';
import type { Counter } from './limiter.ts';
import { type CountedScope, type LimitScope, SCOPES, type ScopeLimit, aggregateLimit } from './scopes.ts';

/** The limits in force: the specification's, with the operator's overrides. */
export interface Limits {
  of(scope: CountedScope): ScopeLimit;
  /** The account's aggregate limit per minute. */
  aggregate(account: { readonly activeAgents: number; readonly proxies: number }): number;
  /** How many resources of a kind an account may have. */
  quota(noun: QuotaNoun): number;
  /** A scope's counter for one key. */
  counter(scope: CountedScope, key: string): Counter;
}

/** @param overrides from the settings `SV_LIMIT_<SCOPE>`: another count within the same window */
export function createLimits(overrides: Partial<Readonly<Record<LimitScope, number>>>): Limits {
  const of = (scope: CountedScope): ScopeLimit => ({
    ...SCOPES[scope],
    limit: overrides[scope] ?? SCOPES[scope].limit,
  });
  return {
    of,
    aggregate: (account) => overrides.user_aggregate ?? aggregateLimit(account),
    quota: (noun) => overrides[quotaScope(noun)] ?? QUOTAS[noun],
    counter: (scope, key) => ({ scope, key, ...of(scope) }),
  };
}
