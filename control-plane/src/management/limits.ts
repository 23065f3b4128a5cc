import { type Clock, type Id, formatTime } from '@svault/shared';
import { QUOTA_NOUNS, type QuotaScope, quotaScope } from '../core/quotas.ts';
import type { Stores } from '../core/stores.ts';
import { aggregateCounter } from '../limits/kernel.ts';
import type { AccountCounter, CounterUsage, Limiter } from '../limits/limiter.ts';
import type { Limits } from '../limits/limits.ts';
import { type AccountScope, type CallerScope, MAX_AGENTS_COUNTED } from '../limits/scopes.ts';

const OF_ACCOUNT: readonly AccountScope[] = ['account_export', 'setup_step'];
const OF_AGENT: readonly CallerScope[] = [
  'agent_credentials',
  'agent_no_grant',
  'mcp_handshake',
  'credential_history',
  'key_reveal',
];
const OF_PROXY: readonly CallerScope[] = ['proxy_mcp', 'mcp_handshake', 'key_reveal'];

/** A counter with its window, and how much of it is used. */
export interface LimitUsage extends CounterUsage {
  readonly scope: AccountCounter['scope'];
  readonly limit: number;
  readonly windowSeconds: number;
}

/** So many of a kind there are, and may be. */
export interface QuotaUsage {
  readonly scope: QuotaScope;
  readonly limit: number;
  readonly used: number;
}

interface Reading {
  readonly limiter: Pick<Limiter, 'usage'>;
  readonly limits: Limits;
  readonly stores: Pick<Stores, 'overview' | 'quotas'>;
  readonly clock: Clock;
}

/**
 * How much of its limits an account uses now; counts nothing.
 *
 * @param caller adds the limits of an agent or a proxy
 */
export async function readLimits(
  { limiter, limits, stores, clock }: Reading,
  vaultId: Id<'vlt'>,
  caller: Id<'agt'> | Id<'prx'> | undefined,
): Promise<{ readonly counters: readonly LimitUsage[]; readonly quotas: readonly QuotaUsage[] }> {
  const now = formatTime(clock.now());
  const { agentsActive: activeAgents, proxiesActive: proxies } = await stores.overview.counts(vaultId, {
    ...{ now, soon: now, upTo: MAX_AGENTS_COUNTED },
  });
  const counters = [
    aggregateCounter(limits.aggregate({ activeAgents, proxies })),
    ...OF_ACCOUNT.map((scope) => limits.counter(scope, vaultId)),
    ...(caller === undefined
      ? []
      : (caller.startsWith('agt_') ? OF_AGENT : OF_PROXY).map((scope) => limits.counter(scope, caller))),
  ];
  const usage = await limiter.usage(counters, vaultId);
  return {
    counters: counters.map(({ scope, limit, windowMs }, index) => ({
      ...{ scope, limit, windowSeconds: windowMs / 1_000, used: 0, resetsInSeconds: 0 },
      ...usage[index],
    })),
    quotas: await Promise.all(
      QUOTA_NOUNS.map(async (noun) => {
        const limit = limits.quota(noun);
        return { scope: quotaScope(noun), limit, used: await stores.quotas.count(vaultId, noun, limit) };
      }),
    ),
  };
}
