import type { GroupCommit } from '@svault/server-kit/group-commit';
import { CHAIN_START } from '@svault/shared/audit-chain';
import { type Clock, formatTime, randomToken } from '@svault/shared';
import type { AuditEvent } from '@svault/shared/schemas';
import { type AuditEntry, type AuditHead, type AuditStore, entryHash } from './audit-store.ts';

type OwnEventType =
  | 'LOG_STARTED'
  | 'BACKUP_RESTORED'
  | 'MASTER_KEY_ROTATED'
  | 'CREDENTIAL_DELIVERED'
  | 'CREDENTIAL_INJECTED'
  | 'CREDENTIAL_REFRESHED'
  | 'CREDENTIAL_STORED'
  | 'CREDENTIAL_DELETED'
  | 'CREDENTIAL_RESTORED'
  | 'CREDENTIAL_PURGED'
  | 'PROXY_CONFIG_STORED'
  | 'PROXY_CONFIG_DELETED'
  | 'CHECKPOINTS_RESET'
  | 'APPROVER_ADDED'
  | 'APPROVER_REMOVED'
  | 'APPROVAL_DECIDED'
  | 'APPROVAL_REVOKED'
  | 'WEBHOOK_BOUND'
  | 'WEBHOOK_UNBOUND'
  | 'WEBHOOK_SECRET_ROTATED';

/** An event that the webhook reports; it never contains a secret. */
export interface OwnEvent extends Pick<AuditEntry, 'serviceName' | 'agentId' | 'userId' | 'proxyId'> {
  readonly eventType: OwnEventType;
  readonly outcome: 'success' | 'denied' | 'error';
  readonly detail?: Readonly<Record<string, unknown>> | undefined;
}

/** Who acted, in the member by which the log is searched. */
export type Subject = Pick<OwnEvent, 'agentId' | 'proxyId' | 'userId'>;

/** The `sub` of a ticket (PROTOCOL.md section 4: agent, proxy or owner) as the log names it. */
export function subjectOf(sub: string): Subject {
  if (sub.startsWith('agt_')) return { agentId: sub };
  return sub.startsWith('prx_') ? { proxyId: sub } : { userId: sub };
}

/** The webhook's hash-chained log; times come from the clock, order from the chain. */
export function createAuditLog(options: {
  readonly store: AuditStore;
  readonly commit: GroupCommit;
  readonly clock: Clock;
}) {
  const { store, commit, clock } = options;

  const head = (): AuditHead => {
    const found = store.head();
    if (found === undefined) throw new Error('the log has no epoch yet');
    return found;
  };
  // Reads and moves the head in one transaction, since commands in other processes append too.
  const write = (
    event: Pick<
      AuditEntry,
      'eventType' | 'outcome' | 'agentId' | 'proxyId' | 'userId' | 'serviceName' | 'count'
    >,
    reported: Pick<AuditEntry, 'source' | 'timestamp' | 'detail'> & { readonly id?: string },
  ): void => {
    const { epoch, seq: lastSeq, hash } = head();
    const seq = lastSeq + 1;
    const entry: AuditEntry = {
      epoch,
      seq,
      source: reported.source,
      id: reported.id ?? `${epoch}.${seq}`,
      eventType: event.eventType,
      timestamp: reported.timestamp,
      outcome: event.outcome,
      agentId: event.agentId,
      proxyId: event.proxyId,
      userId: event.userId,
      serviceName: event.serviceName,
      count: event.count,
      detail: reported.detail,
    };
    store.append(entry, entryHash(hash, entry));
  };
  /** In an open transaction; durable with it. */
  const appendNow = (event: OwnEvent): void =>
    write(event, { source: 'webhook', timestamp: formatTime(clock.now()), detail: toText(event.detail) });

  return {
    /** Resolves when the entry is on the disk, in one fsync with all other commits of this turn of the event loop. */
    append: (event: OwnEvent): Promise<void> => commit.run(() => appendNow(event)),
    appendNow,
    /** Writes events that the control plane reports, each id once; resolves when they are on the disk. */
    appendServiceEvents: (events: readonly AuditEvent[]): Promise<void> =>
      commit.run(() => {
        for (const event of events) {
          const { id, timestamp, detail } = event;
          if (!store.hasServiceEvent(id))
            write(event, { source: 'service', id, timestamp, detail: toText(detail) });
        }
      }),
    /** In an open transaction: ends the chain and begins a new one with this event as its first entry. */
    startEpochNow: (event: OwnEvent, { restored }: { readonly restored: boolean }): void => {
      const epoch = randomToken();
      store.startEpoch({ epoch, seq: 0, hash: CHAIN_START, startedAtMs: clock.now(), restored });
      appendNow(event);
    },
    head,
  };
}

export type AuditLog = ReturnType<typeof createAuditLog>;

const toText = (detail: Readonly<Record<string, unknown>> | undefined): string | undefined =>
  detail === undefined ? undefined : JSON.stringify(detail);
