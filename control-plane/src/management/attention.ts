import { type Clock, type Id, formatTime, parseTime } from '@svault/shared';
import {
  ATTENTION_KINDS,
  type AttentionItem,
  type AttentionKind,
  type AttentionStore,
} from '../core/attention.ts';
import type { AuditEvent } from '../core/audit-event.ts';
import type { Stores } from '../core/stores.ts';
import { type Limiter, MAX_LOCKOUTS } from '../limits/limiter.ts';
import type { ExpiringRecords } from '../webhook/expiring-records.ts';
import { readLogCopy } from '../webhook/log-copy.ts';
import type { OnlineStatus } from '../webhook/outages.ts';

const DAY_MS = 24 * 60 * 60_000;
/** A contradiction of the webhook's log needs attention this long. */
const CONTRADICTION_MS = 7 * DAY_MS;
/** A lockout lasts no longer. */
const MAX_LOCKOUT_MS = 15 * 60_000;
/** Of one kind. */
const MAX_ITEMS = 50;
/** Among so many of the newest events about credentials failed refreshes are looked for. */
const MAX_EVENTS = 300;

interface Dependencies {
  readonly stores: Pick<
    Stores,
    'attention' | 'audit' | 'auditCheckpoints' | 'tokens' | 'vaults' | 'webhookLinks'
  >;
  readonly limiter: Pick<Limiter, 'lockouts'>;
  readonly status: Pick<OnlineStatus, 'offlineForSeconds'>;
  readonly expiringRecords: ExpiringRecords;
  readonly clock: Clock;
}

/** An item as one user sees it. */
export type SeenItem = AttentionItem & { readonly seen: boolean };

/**
 * What needs attention in an account, the most serious first; of one kind what ends soonest, or else the newest; at most 50 of
 * one kind.
 */
export async function readAttention(
  dependencies: Dependencies,
  { vaultId, userId }: { readonly vaultId: Id<'vlt'>; readonly userId: Id<'usr'> },
): Promise<readonly SeenItem[]> {
  const { stores, clock } = dependencies;
  const nowMs = clock.now();
  const events = await stores.attention.events(vaultId, MAX_EVENTS);
  const found = [
    await ofAccount(dependencies, vaultId, nowMs),
    contradictions(events, nowMs),
    failedRefreshes(events),
    await rejected(stores.attention, vaultId),
    await lockouts(dependencies.limiter, vaultId, nowMs),
    await expiringGrants(stores.attention, vaultId, nowMs),
    await expiringCredentials(dependencies, vaultId, nowMs),
  ];
  const seen = await stores.attention.seen(userId);
  return found
    .flatMap((items) => items.slice(0, MAX_ITEMS))
    .map((item) => ({ ...item, seen: (seen.get(item.id) ?? '') >= item.since }))
    .toSorted(
      (one, other) =>
        ORDER.indexOf(one.kind) - ORDER.indexOf(other.kind) ||
        (one.endsAt ?? '').localeCompare(other.endsAt ?? '') ||
        other.since.localeCompare(one.since) ||
        one.id.localeCompare(other.id),
    );
}

const ORDER = Object.keys(ATTENTION_KINDS) as AttentionKind[];

/** Notes that a user has seen some of these items; others are not noted. */
export async function markSeen(
  attention: Pick<AttentionStore, 'markSeen'>,
  userId: Id<'usr'>,
  {
    items,
    ids,
    at,
  }: { readonly items: readonly SeenItem[]; readonly ids: readonly string[]; readonly at: string },
): Promise<readonly SeenItem[]> {
  const current = items.map(({ id }) => id);
  const chosen = new Set(ids);
  const noted = current.filter((id) => chosen.has(id));
  await attention.markSeen(userId, { ids: noted, current, at });
  return items.map((item) => ({ ...item, seen: item.seen || (chosen.has(item.id) && at >= item.since) }));
}

async function ofAccount(
  { stores, status }: Dependencies,
  vaultId: Id<'vlt'>,
  nowMs: number,
): Promise<readonly AttentionItem[]> {
  const items: AttentionItem[] = [];
  const vault = await stores.vaults.get(vaultId);
  if (vault?.lockedAt !== undefined) {
    const subject = { type: 'account', id: vaultId } as const;
    items.push({ id: 'vault_locked', kind: 'vault_locked', since: vault.lockedAt, subject });
  }
  const link = await stores.webhookLinks.find(vaultId);
  if (link === undefined) return items;
  const subject = { type: 'webhook', id: link.webhookId } as const;
  // The last answer is the same as long as it is offline.
  if (status.offlineForSeconds(vaultId) > 0)
    items.push({
      ...{ id: 'webhook_offline', kind: 'webhook_offline', subject },
      since: link.lastSeenAt ?? link.boundAt,
    });
  const { behindSince: since } = await readLogCopy(stores.audit, vaultId, nowMs);
  if (since !== undefined) items.push({ id: 'log_not_delivered', kind: 'log_not_delivered', since, subject });
  const { refusedAt } = (await stores.auditCheckpoints.find(vaultId, link.webhookId)) ?? {};
  if (refusedAt !== undefined)
    items.push({ id: 'checkpoint_refused', kind: 'checkpoint_refused', since: refusedAt, subject });
  return items;
}

/** The newest one. */
function contradictions(events: readonly AuditEvent[], nowMs: number): readonly AttentionItem[] {
  const event = events.find(({ eventType }) => eventType === 'WEBHOOK_LOG_CONTRADICTION');
  if (event === undefined || event.timestamp < formatTime(nowMs - CONTRADICTION_MS)) return [];
  const webhookId = event.detail?.['webhookId'];
  return [
    {
      ...{ id: 'log_contradiction', kind: 'log_contradiction', since: event.timestamp, eventSeq: event.seq },
      subject: { type: 'webhook', id: typeof webhookId === 'string' ? webhookId : '' },
    },
  ];
}

/** Credentials whose last refresh failed, unless they were deleted or stored again since; from the first failure in a row. */
function failedRefreshes(events: readonly AuditEvent[]): readonly AttentionItem[] {
  const failed = new Map<string, AuditEvent>();
  const decided = new Set<string>();
  for (const event of events) {
    const { serviceName } = event;
    if (serviceName === undefined || decided.has(serviceName)) continue;
    if (hasFailed(event)) failed.set(serviceName, event);
    else if (event.eventType !== 'TOKEN_REFRESHED' || event.outcome === 'success') decided.add(serviceName);
  }
  return [...failed].map(([serviceName, { timestamp, seq }]) => ({
    ...{ id: `refresh_failed:${serviceName}`, kind: 'refresh_failed', since: timestamp, eventSeq: seq },
    subject: { type: 'credential', id: serviceName },
  }));
}

/** A refresh that was limited, or that another one was ahead of, has not failed. */
const hasFailed = ({ eventType, outcome, detail }: AuditEvent): boolean =>
  eventType === 'TOKEN_REFRESHED' &&
  (outcome === 'error' || detail?.['outcome'] === 'provider_not_configured');

const rejected = async (
  attention: Pick<AttentionStore, 'rejectedTokens'>,
  vaultId: Id<'vlt'>,
): Promise<readonly AttentionItem[]> =>
  (await attention.rejectedTokens(vaultId, MAX_ITEMS)).map(({ serviceName, rejectedAt }) => ({
    ...{ id: `credential_rejected:${serviceName}`, kind: 'credential_rejected', since: rejectedAt },
    subject: { type: 'credential', id: serviceName },
  }));

/** A further strike is a further item; the same number of strikes may come again when some have decayed. */
async function lockouts(
  limiter: Pick<Limiter, 'lockouts'>,
  vaultId: Id<'vlt'>,
  nowMs: number,
): Promise<readonly AttentionItem[]> {
  return (await limiter.lockouts(vaultId))
    .slice(0, MAX_LOCKOUTS)
    .toSorted((one, other) => other.retryAfterSeconds - one.retryAfterSeconds)
    .map(({ callerId, strikes, retryAfterSeconds }) => {
      const endMs = nowMs + retryAfterSeconds * 1_000;
      return {
        ...{ id: `lockout:${callerId}:${strikes}`, kind: 'lockout', endsAt: formatTime(endMs) },
        since: formatTime(endMs - MAX_LOCKOUT_MS),
        subject: { type: callerId.startsWith('agt_') ? 'agent' : 'proxy', id: callerId },
      };
    });
}

async function expiringGrants(
  attention: Pick<AttentionStore, 'expiringGrants'>,
  vaultId: Id<'vlt'>,
  nowMs: number,
): Promise<readonly AttentionItem[]> {
  const [from, to] = [formatTime(nowMs), formatTime(nowMs + DAY_MS)];
  const grants = await attention.expiringGrants(vaultId, { from, to, limit: MAX_ITEMS });
  return grants.map(({ agentId, serviceName, grantExpiresAt: endsAt = to }) => ({
    ...{ id: `grant_expires:${agentId}:${serviceName}`, kind: 'grant_expires', endsAt, serviceName },
    since: aDayBefore(endsAt),
    subject: { type: 'agent', id: agentId },
  }));
}

/** Those that neither the webhook nor the control plane refreshes. */
async function expiringCredentials(
  { stores, expiringRecords }: Dependencies,
  vaultId: Id<'vlt'>,
  nowMs: number,
): Promise<readonly AttentionItem[]> {
  const soon = formatTime(nowMs + DAY_MS);
  const expiring = (await expiringRecords.read(vaultId, soon)).flatMap(
    ({ serviceName, expiryTime, hasRefreshToken, provider, empty }) => {
      const endMs = parseTime(expiryTime ?? '');
      const isRefreshed = hasRefreshToken && provider !== undefined;
      return endMs === undefined || isRefreshed || empty ? [] : [{ serviceName, endsAt: formatTime(endMs) }];
    },
  );
  const known = await stores.tokens.known(
    vaultId,
    expiring.map(({ serviceName }) => serviceName),
  );
  return expiring
    .filter(({ serviceName, endsAt }) => known.has(serviceName) && endsAt <= soon)
    .map(({ serviceName, endsAt }) => ({
      ...{ id: `credential_expires:${serviceName}`, kind: 'credential_expires', endsAt },
      since: aDayBefore(endsAt),
      subject: { type: 'credential', id: serviceName },
    }));
}

const aDayBefore = (time: string): string => formatTime((parseTime(time) ?? 0) - DAY_MS);
