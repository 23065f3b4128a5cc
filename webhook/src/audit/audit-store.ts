import type { ChainedEntry } from './audit-entry.ts';

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

export interface AuditPage {
  readonly items: readonly ChainedEntry[];
  /** Where the next page begins; undefined when nothing is left. */
  readonly nextBefore: number | undefined;
}

/** Rows of the log. Calls are synchronous; writing ones take part in the open transaction. */
export interface AuditStore {
  /** The newest epoch, undefined before there is one. */
  head(): AuditHead | undefined;
  startEpoch(epoch: Epoch): void;
  /** Writes the entry and moves its epoch's head. */
  append(entry: ChainedEntry): void;
  hasServiceEvent(id: string): boolean;
  /** Newest first, over all epochs. `before` is a place from a former page. */
  page(query: {
    readonly before: number | undefined;
    readonly limit: number;
    readonly agentId: string | undefined;
    readonly serviceName: string | undefined;
  }): AuditPage;
  /** All epochs in the order they were opened. */
  epochs(): readonly Epoch[];
  /** All entries in the order they were written. */
  walk(): Iterable<ChainedEntry>;
}
