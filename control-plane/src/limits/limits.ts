import { aggregateLimit } from './aggregate.ts';
import type { Counter } from './limiter.ts';
import { QUOTAS, type QuotaNoun, quotaScope } from '../core/quotas.ts';
import { type CountedScope, type LimitScope, SCOPES, type ScopeLimit } from './scopes.ts';

/** The limits that hold in this process: the specification's, with the operator's changes. */
export interface Limits {
  of(scope: CountedScope): ScopeLimit;
  /** The account's ceiling per minute. */
  aggregate(account: { readonly activeAgents: number; readonly proxies: number }): number;
  /** How many things of a kind an account has at most. */
  quota(noun: QuotaNoun): number;
  /** A counter of a scope for one key. */
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
