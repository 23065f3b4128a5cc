import { type Clock, type Id, formatTime } from '@svault/shared';
import type { Actor } from '../core/actor.ts';
import { type Activity, readActivity } from '../audit/activity-summary.ts';
import type { AuditStore } from '../core/audit-store.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Stores } from '../core/stores.ts';
import { type Vault, ownVault } from '../core/vault.ts';
import type { OnlineStatus } from '../webhook/outages.ts';
import type { AccountCounts } from '../core/overview.ts';

/** What an owner sees first. */
export interface Overview {
  readonly vault: Vault;
  readonly counts: AccountCounts;
  readonly activity: Activity;
  /** Undefined: none is bound. */
  readonly webhook: WebhookGlance | undefined;
  /** Agents and proxies in the penalty box. */
  readonly lockouts: number;
}

interface WebhookGlance {
  /** False while it is known not to answer; nobody asks it for this. */
  readonly online: boolean;
  readonly lastSeenAt: string | undefined;
  /** Since when an event waits that it has not acknowledged; undefined where none waits longer than is usual. */
  readonly logBehindSince: string | undefined;
}

/** Numbers are counted up to here; a larger one costs no more. */
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

/** Longer than an event waits for its turn. */
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
