import type { Id } from '@svault/shared';
import type { Outcome } from '@svault/shared/schemas';
import type { AuditEvent, AuditEventType, ChainHead, NewAuditEvent } from './audit-event.ts';

/** Every condition given must hold; none given means all events. */
export interface AuditFilter {
  readonly agentId?: Id<'agt'> | undefined;
  readonly serviceName?: string | undefined;
  readonly eventType?: AuditEventType | undefined;
  readonly outcome?: Outcome | undefined;
  /** Inclusive, in the written form of an event's time. */
  readonly from?: string | undefined;
  /** Exclusive. */
  readonly to?: string | undefined;
}

/** The two ends of a vault's chain. */
export interface AuditChain {
  readonly head: ChainHead;
  /** What the oldest kept event follows: retention removes from the old end and leaves the hash it stopped at. */
  readonly start: ChainHead;
  /** The last event that the webhook acknowledged; 0 where none was. */
  readonly shippedSeq: number;
}

/** A vault with events that its webhook has not acknowledged. */
export interface ShippingBacklog {
  readonly vaultId: Id<'vlt'>;
  /** The last event that the webhook acknowledged. */
  readonly shippedSeq: number;
}

/** The durable log. The table is at the same time the outbox: what is not yet shipped is what is above a cursor. */
export interface AuditStore {
  /**
   * Writes an event behind the head of its vault's chain, which is read in the same transaction. Called within a
   * unit of work, the event and the change it reports are both there after a crash, or neither.
   */
  append(event: NewAuditEvent): Promise<void>;

  /** The same for several events of one vault, in their order, with one look at the chain. */
  appendAll(events: readonly NewAuditEvent[]): Promise<void>;

  /**
   * Newest first, the events among a bounded number of rows: a filter that hardly anything fits must not hold up the
   * requests beside it. `findEvents` looks on for as many as are wanted.
   *
   * @param before only events with a lower number
   * @returns the events, at most `limit`, and the number down to which was looked; undefined where nothing is left
   */
  scan(
    vaultId: Id<'vlt'>,
    filter: AuditFilter,
    page: { readonly limit: number; readonly before?: number | undefined },
  ): Promise<{ readonly events: readonly AuditEvent[]; readonly reached: number | undefined }>;

  /**
   * Counts the credential requests among the newest rows, each event for as many as it stands for.
   *
   * @param request.since in the written form; earlier events are not counted
   * @returns the counts, and of which rows; undefined where there were fewer than `rows`. Their times are in no order
   *   where the clock was set
   */
  countActivity(
    vaultId: Id<'vlt'>,
    request: { readonly since: string; readonly before: number | undefined; readonly rows: number },
  ): Promise<{
    readonly counts: ActivityCounts;
    readonly rows:
      { readonly firstSeq: number; readonly oldestAt: string; readonly newestAt: string } | undefined;
  }>;

  /** Oldest first, the events above a number. */
  after(vaultId: Id<'vlt'>, seq: number, limit: number): Promise<readonly AuditEvent[]>;

  chainOf(vaultId: Id<'vlt'>): Promise<AuditChain>;

  /** Every vault that there is, or that ever had an event: to take one's chain away does not hide its events. */
  vaultsToVerify(): Promise<readonly Id<'vlt'>[]>;

  /** When the oldest kept event of each vault was written, by the vault's id; only those behind `after`. */
  oldest(page: {
    readonly after: Id<'vlt'> | undefined;
    readonly limit: number;
  }): Promise<readonly { readonly vaultId: Id<'vlt'>; readonly oldestAt: string | undefined }[]>;

  /**
   * Removes the events from the old end of a vault's chain up to `to`, which is what the oldest kept event then follows.
   *
   * @returns false, with nothing removed, where the chain does not begin at `from` any more
   */
  cutStart(vaultId: Id<'vlt'>, from: ChainHead, to: ChainHead): Promise<boolean>;

  /** Vaults with a bound webhook and events above their cursor, by id; only those behind `after`. */
  backlog(page: {
    readonly after: Id<'vlt'> | undefined;
    readonly limit: number;
  }): Promise<readonly ShippingBacklog[]>;

  /**
   * Moves a vault's cursor forward.
   *
   * @returns false, with nothing moved, where it does not stand at `from` any more: another process has shipped
   */
  markShipped(vaultId: Id<'vlt'>, from: number, to: number): Promise<boolean>;
}

/** How requests of agents and proxies for credentials were answered. */
export interface ActivityCounts {
  readonly accesses: number;
  readonly denied: number;
  readonly rateLimited: number;
  readonly errors: number;
}
