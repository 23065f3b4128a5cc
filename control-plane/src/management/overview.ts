import { type Clock, type Id, formatTime } from '@svault/shared';
import { lastHours, readActivity } from '../audit/activity.ts';
import { sumByOutcome } from '../core/activity.ts';
import type { Actor } from '../core/actor.ts';
import type { Stores } from '../core/stores.ts';
import { ownVault } from '../core/vault.ts';
import { type Limiter, MAX_LOCKOUTS } from '../limits/limiter.ts';
import { readLogCopy } from '../webhook/log-copy.ts';
import type { OnlineStatus } from '../webhook/outages.ts';

export type Overview = Awaited<ReturnType<typeof readOverview>>;

/** Counting stops here, so that a large account costs no more. */
export const COUNTED_UP_TO = 10_000;
const DAY_MS = 24 * 60 * 60_000;

/** The first page of the dashboard; it costs the same for accounts of every size. */
export async function readOverview(
  dependencies: {
    readonly stores: Pick<Stores, 'activity' | 'audit' | 'overview' | 'vaults' | 'webhookLinks'>;
    readonly limiter: Pick<Limiter, 'lockouts'>;
    readonly status: Pick<OnlineStatus, 'offlineForSeconds'>;
    readonly clock: Clock;
  },
  actor: Actor,
) {
  const { stores, limiter, status, clock } = dependencies;
  const { vaultId } = actor;
  const nowMs = clock.now();
  const [now, soon] = [formatTime(nowMs), formatTime(nowMs + DAY_MS)];
  const link = await stores.webhookLinks.find(vaultId);
  const lastDay = lastHours(24, nowMs);
  const { counts: activity, complete } = await readActivity(stores, vaultId, {
    ...{ agentIds: undefined, bucket: 'hour', ...lastDay },
  });
  return {
    vault: await ownVault(stores, actor),
    counts: await stores.overview.counts(vaultId, { now, soon, upTo: COUNTED_UP_TO }),
    activity: { since: lastDay.from, complete, ...sumByOutcome(activity) },
    // It is not called for this: it counts as online until it is known to be offline.
    webhook: link && {
      url: link.url,
      online: status.offlineForSeconds(vaultId) === 0,
      lastSeenAt: link.lastSeenAt,
      logBehindSince: (await readLogCopy(stores.audit, vaultId, nowMs)).behindSince,
    },
    lockouts: (await limiter.lockouts(vaultId)).length,
  };
}

/** The callers of an account that are locked out, the longest lockouts first, at most {@link MAX_LOCKOUTS}; without a name where deleted. */
export async function namedLockouts(
  {
    limiter,
    stores,
  }: { readonly limiter: Pick<Limiter, 'lockouts'>; readonly stores: Pick<Stores, 'agents' | 'proxies'> },
  vaultId: Id<'vlt'>,
) {
  const lockouts = (await limiter.lockouts(vaultId))
    .toSorted((a, b) => b.retryAfterSeconds - a.retryAfterSeconds || a.callerId.localeCompare(b.callerId))
    .slice(0, MAX_LOCKOUTS);
  return Promise.all(
    lockouts.map(async (lockout) => {
      const { callerId } = lockout;
      const keeper = callerId.startsWith('agt_') ? stores.agents : stores.proxies;
      return { ...lockout, name: (await keeper.get(vaultId, callerId))?.name };
    }),
  );
}
