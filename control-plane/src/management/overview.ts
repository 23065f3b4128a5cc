import { type Clock, type Id, formatTime } from '@svault/shared';
import { type Activity, readActivity } from '../audit/activity-summary.ts';
import type { Actor } from '../core/actor.ts';
import type { AuditStore } from '../core/audit-store.ts';
import type { AccountCounts } from '../core/overview.ts';
import type { Stores } from '../core/stores.ts';
import { type Vault, ownVault } from '../core/vault.ts';
import { type Limiter, type Lockout, MAX_LOCKOUTS } from '../limits/limiter.ts';
import type { OnlineStatus } from '../webhook/outages.ts';

/** The first page of the dashboard. */
export interface Overview {
  readonly vault: Vault;
  readonly counts: AccountCounts;
  readonly activity: Activity;
  /** Undefined where no webhook is bound. */
  readonly webhook: WebhookGlance | undefined;
  /** Agents and proxies in the penalty box. */
  readonly lockouts: number;
}

interface WebhookGlance {
  /** False while it is known to be offline; it is not called for this. */
  readonly online: boolean;
  readonly lastSeenAt: string | undefined;
  /** Time of the oldest event that waits unusually long for its acknowledgement; undefined where none does. */
  readonly logBehindSince: string | undefined;
}

/** Counting stops here, so that a large account costs no more. */
export const COUNTED_UP_TO = 10_000;
const DAY_MS = 24 * 60 * 60_000;

/** Costs the same for accounts of every size. */
export async function readOverview(
  dependencies: {
    readonly stores: Pick<Stores, 'audit' | 'overview' | 'vaults' | 'webhookLinks'>;
    readonly limiter: Pick<Limiter, 'lockouts'>;
    readonly status: Pick<OnlineStatus, 'offlineForSeconds'>;
    readonly clock: Clock;
  },
  actor: Actor,
): Promise<Overview> {
  const { stores, limiter, status, clock } = dependencies;
  const { vaultId } = actor;
  const nowMs = clock.now();
  const [now, soon] = [formatTime(nowMs), formatTime(nowMs + DAY_MS)];
  const link = await stores.webhookLinks.find(vaultId);
  return {
    vault: await ownVault(stores, actor),
    counts: await stores.overview.counts(vaultId, { now, soon, upTo: COUNTED_UP_TO }),
    activity: await readActivity(stores.audit, vaultId, formatTime(nowMs - DAY_MS)),
    webhook: link && {
      online: status.offlineForSeconds(vaultId) === 0,
      lastSeenAt: link.lastSeenAt,
      logBehindSince: await logBehindSince(stores.audit, vaultId, nowMs),
    },
    lockouts: (await limiter.lockouts(vaultId)).length,
  };
}

/** An event waits less than this in normal operation. */
const USUAL_WAIT_MS = 60_000;

async function logBehindSince(
  log: Pick<AuditStore, 'after' | 'chainOf'>,
  vaultId: Id<'vlt'>,
  nowMs: number,
): Promise<string | undefined> {
  const { shippedSeq } = await log.chainOf(vaultId);
  const [waiting] = await log.after(vaultId, shippedSeq, 1);
  return waiting !== undefined && waiting.timestamp < formatTime(nowMs - USUAL_WAIT_MS)
    ? waiting.timestamp
    : undefined;
}

/** A lockout with the caller's name. */
export interface NamedLockout extends Lockout {
  /** Undefined for a deleted caller. */
  readonly name: string | undefined;
}

/** The callers of an account that are locked out, the longest lockouts first, at most {@link MAX_LOCKOUTS}. */
export async function namedLockouts(
  {
    limiter,
    stores,
  }: { readonly limiter: Pick<Limiter, 'lockouts'>; readonly stores: Pick<Stores, 'agents' | 'proxies'> },
  vaultId: Id<'vlt'>,
): Promise<readonly NamedLockout[]> {
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
