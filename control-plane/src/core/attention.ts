import type { Id } from '@svault/shared';
import type { AuditEvent, AuditEventType } from './audit-event.ts';
import type { Grant } from './grant.ts';

/** What needs attention, the most serious first. */
export const ATTENTION_KINDS = {
  webhook_offline: 'critical',
  log_contradiction: 'critical',
  checkpoint_refused: 'critical',
  refresh_failed: 'critical',
  credential_rejected: 'critical',
  vault_locked: 'warning',
  log_not_delivered: 'warning',
  lockout: 'warning',
  credential_expires: 'warning',
  grant_expires: 'warning',
} as const satisfies Record<string, 'critical' | 'warning'>;
export type AttentionKind = keyof typeof ATTENTION_KINDS;

export const SUBJECT_TYPES = ['account', 'webhook', 'agent', 'proxy', 'credential'] as const;

/** One thing that somebody may have to do something about. */
export interface AttentionItem {
  /** Stable while it needs attention. */
  readonly id: string;
  readonly kind: AttentionKind;
  /** When it began to; a later time is a new occurrence. */
  readonly since: string;
  /** When it ends or expires; undefined where that is not known. */
  readonly endsAt?: string | undefined;
  /** A credential's id is its service name. */
  readonly subject: { readonly type: (typeof SUBJECT_TYPES)[number]; readonly id: string };
  /** Of a grant. */
  readonly serviceName?: string | undefined;
  /** The event of the log that reports it. */
  readonly eventSeq?: number | undefined;
}

/** Types of events that say what needs attention, or no longer does. */
export const ATTENTION_EVENTS: readonly AuditEventType[] = [
  'TOKEN_REFRESHED',
  'TOKEN_STORE_TICKET',
  'TOKEN_DELETED',
  'WEBHOOK_LOG_CONTRADICTION',
];

export interface AttentionStore {
  /** Of the types {@link ATTENTION_EVENTS}, newest first. */
  events(vaultId: Id<'vlt'>, limit: number): Promise<readonly AuditEvent[]>;
  /** Grants that expire after `from` and up to `to`, the next first. */
  expiringGrants(
    vaultId: Id<'vlt'>,
    request: { readonly from: string; readonly to: string; readonly limit: number },
  ): Promise<readonly Grant[]>;
  /** Credentials that upstreams rejected at their last use, by service name. */
  rejectedTokens(
    vaultId: Id<'vlt'>,
    limit: number,
  ): Promise<readonly { readonly serviceName: string; readonly rejectedAt: string }[]>;
  /** When a user has seen which items. */
  seen(userId: Id<'usr'>): Promise<ReadonlyMap<string, string>>;
  /** Notes that a user has seen items, and forgets what they have seen of others than the current ones. */
  markSeen(
    userId: Id<'usr'>,
    marks: { readonly ids: readonly string[]; readonly current: readonly string[]; readonly at: string },
  ): Promise<void>;
  removeOfUser(userId: Id<'usr'>): Promise<void>;
}
