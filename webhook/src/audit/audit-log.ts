import { CHAIN_START } from '@svault/server-kit/hash-chain';
import type { GroupCommit } from '@svault/server-kit/group-commit';
import { type Clock, formatTime, randomToken } from '@svault/shared';
import { type AuditEntry, chain } from './audit-entry.ts';
import type { AuditHead, AuditStore } from './audit-store.ts';

/** What the webhook itself reports, by kind. */
export type OwnEventType =
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
  | 'WEBHOOK_BOUND'
  | 'WEBHOOK_UNBOUND'
  | 'WEBHOOK_SECRET_ROTATED';

/** One of the webhook's own entries; never a secret in it. */
export interface OwnEvent {
  readonly eventType: OwnEventType;
  readonly outcome: 'success' | 'denied' | 'error';
  readonly serviceName?: string | undefined;
  readonly agentId?: string | undefined;
  readonly userId?: string | undefined;
  readonly proxyId?: string | undefined;
  readonly detail?: Readonly<Record<string, unknown>> | undefined;
}

/** An event that the service reports (protocol section 5.3, `audit.append`). */
export interface ServiceEvent {
  readonly id: string;
  readonly eventType: string;
  readonly timestamp: string;
  readonly outcome: string;
  readonly agentId?: string | undefined;
  readonly proxyId?: string | undefined;
  readonly userId?: string | undefined;
  readonly serviceName?: string | undefined;
  readonly count?: number | undefined;
  readonly detail?: Readonly<Record<string, unknown>> | undefined;
}

/** The webhook's own hash-chained log. */
export interface AuditLog {
  /** Resolves when the entry is on the disk, in one fsync with everything else of this turn. */
  append(event: OwnEvent): Promise<void>;
  /** Inside an open transaction; durable with it. */
  appendNow(event: OwnEvent): void;
  /** Inside an open transaction: writes an event of the service, once per id. */
  appendServiceEventNow(event: ServiceEvent): void;
  /** Inside an open transaction: closes the chain and begins a new one with this event as its first entry. */
  startEpochNow(event: OwnEvent, options: { readonly restored: boolean }): void;
  head(): AuditHead;
}

type Unchained = Omit<AuditEntry, 'epoch' | 'seq' | 'id'> & { readonly id?: string };

/** The log over its store; times come from the clock, order from the chain. */
export function createAuditLog(options: {
  readonly store: AuditStore;
  readonly commit: GroupCommit;
  readonly clock: Clock;
}): AuditLog {
  const { store, commit, clock } = options;

  const head = (): AuditHead => {
    const found = store.head();
    if (found === undefined) throw new Error('the log has no epoch yet');
    return found;
  };
  // Read and moved inside one transaction, since commands of other processes append too.
  const write = (unchained: Unchained): void => {
    const { epoch, seq: lastSeq, hash } = head();
    const seq = lastSeq + 1;
    store.append(chain(hash, { id: `${epoch}.${seq}`, ...unchained, epoch, seq }));
  };
  const appendNow = (event: OwnEvent): void => {
    const { detail, ...rest } = event;
    write({ ...rest, source: 'webhook', timestamp: formatTime(clock.now()), detail: toText(detail) });
  };

  return {
    append: (event) => commit.run(() => appendNow(event)),
    appendNow,
    appendServiceEventNow: ({ detail, ...event }) => {
      if (store.hasServiceEvent(event.id)) return;
      write({ ...event, source: 'service', detail: toText(detail) });
    },
    startEpochNow: (event, { restored }) => {
      const epoch = randomToken();
      store.startEpoch({ epoch, seq: 0, hash: CHAIN_START, startedAtMs: clock.now(), restored });
      appendNow(event);
    },
    head,
  };
}

const toText = (detail: Readonly<Record<string, unknown>> | undefined): string | undefined =>
  detail === undefined ? undefined : JSON.stringify(detail);
