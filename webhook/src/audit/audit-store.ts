import { chainHash } from '@svault/shared/audit-chain';

/** One entry of the log, as it is hashed; `detail` is the JSON text, so that its hash does not depend on a parser. */
export interface AuditEntry {
  readonly epoch: string;
  /** 1 for the first entry of an epoch, then one more each. */
  readonly seq: number;
  /** Who reported it: the webhook itself, or the control plane by `audit.append`. */
  readonly source: 'webhook' | 'service';
  readonly id: string;
  readonly eventType: string;
  /** As PROTOCOL.md section 2 writes times; the control plane's if it reported the event. */
  readonly timestamp: string;
  readonly outcome: string;
  readonly agentId?: string | undefined;
  readonly proxyId?: string | undefined;
  readonly userId?: string | undefined;
  readonly serviceName?: string | undefined;
  readonly count?: number | undefined;
  readonly detail?: string | undefined;
}

export interface ChainedEntry extends AuditEntry {
  /** Over this entry and, through the former hash, all before it in its epoch; 64 hex digits. */
  readonly hash: string;
}

/**
 * As `canonicalJson` writes an entry, at a fraction of its cost: members in the order of their names, absent ones left out.
 */
export const canonicalEntry = (entry: AuditEntry): string =>
  JSON.stringify({
    agentId: entry.agentId,
    count: entry.count,
    detail: entry.detail,
    epoch: entry.epoch,
    eventType: entry.eventType,
    id: entry.id,
    outcome: entry.outcome,
    proxyId: entry.proxyId,
    seq: entry.seq,
    serviceName: entry.serviceName,
    source: entry.source,
    timestamp: entry.timestamp,
    userId: entry.userId,
  } satisfies { readonly [Name in keyof Required<AuditEntry>]: AuditEntry[Name] });

/** @param previous the hash of the entry before, or CHAIN_START for the first of an epoch */
export const entryHash = (previous: string, entry: AuditEntry): string =>
  chainHash(previous, canonicalEntry(entry));

/** The last entry of an epoch; `seq` 0 and CHAIN_START before its first. */
export interface AuditHead {
  readonly epoch: string;
  readonly seq: number;
  readonly hash: string;
}

export interface Epoch extends AuditHead {
  readonly startedAtMs: number;
  /** Whether it was opened by the restore of a backup. */
  readonly restored: boolean;
}

/** Rows of the log. Calls are synchronous; writing ones take part in the open transaction. */
export interface AuditStore {
  /** The newest epoch, undefined before there is one. */
  head(): AuditHead | undefined;
  startEpoch(epoch: Epoch): void;
  /** Writes the entry with its hash and moves its epoch's head. */
  append(entry: AuditEntry, hash: string): void;
  hasServiceEvent(id: string): boolean;
  /** The copy of an event that the control plane reported. */
  serviceEvent(id: string): AuditEntry | undefined;
  /** Newest first, over all epochs. `before` is a former page's `nextBefore`, which is undefined after the last. */
  page(query: {
    readonly before: number | undefined;
    readonly limit: number;
    readonly agentId: string | undefined;
    readonly serviceName: string | undefined;
  }): { readonly items: readonly ChainedEntry[]; readonly nextBefore: number | undefined };
  /** All epochs in the order they were opened. */
  epochs(): readonly Epoch[];
  /** All entries in the order they were written. */
  walk(): Iterable<ChainedEntry>;
}
