import type { Id } from '@svault/shared';
import type { ChainHead } from '@svault/shared/audit-chain';
import type { Outcome } from '@svault/shared/schemas';
import type { AuditEvent, AuditEventType, NewAuditEvent } from './audit-event.ts';
import type { Channel } from './origin.ts';

/** Conditions joined by AND; without any, every event matches. */
export interface AuditFilter {
  readonly agentId?: Id<'agt'> | undefined;
  readonly serviceName?: string | undefined;
  readonly eventType?: AuditEventType | undefined;
  readonly outcome?: Outcome | undefined;
  readonly proxyId?: Id<'prx'> | undefined;
  readonly userId?: Id<'usr'> | undefined;
  readonly channel?: Channel | undefined;
  readonly address?: string | undefined;
  readonly requestId?: string | undefined;
  /** Inclusive, `YYYY-MM-DDTHH:MM:SS.sssZ`. */
  readonly from?: string | undefined;
  /** Exclusive. */
  readonly to?: string | undefined;
}

export interface AuditChain {
  readonly head: ChainHead;
  /** The link before the oldest kept event: the last one that retention removed. */
  readonly start: ChainHead;
  /** The last event that the webhook acknowledged; 0 where none was. */
  readonly shippedSeq: number;
}

/** A vault whose webhook has not acknowledged all events. */
interface ShippingBacklog {
  readonly vaultId: Id<'vlt'>;
  /** The last event that the webhook acknowledged. */
  readonly shippedSeq: number;
}

/** The durable log. Its table is the outbox too: events above a vault's cursor are not shipped yet. */
export interface AuditStore {
  /**
   * Appends an event to its vault's chain in one transaction. Within a unit of work, the event and the change that it
   * reports are both durable, or neither.
   */
  append(event: NewAuditEvent): Promise<void>;

  /** The same for several events of one vault, in their order, with one read of the chain. */
  appendAll(events: readonly NewAuditEvent[]): Promise<void>;

  /**
   * The matching events, newest first, among a bounded number of rows: a filter that few events match must not delay
   * other requests. `findEvents` calls it until it has a page.
   *
   * @param before only events with a lower number
   * @returns at most `limit` events, and the lowest number that was read; undefined where no row is left
   */
  scan(
    vaultId: Id<'vlt'>,
    filter: AuditFilter,
    page: { readonly limit: number; readonly before?: number | undefined },
  ): Promise<{ readonly events: readonly AuditEvent[]; readonly reached: number | undefined }>;

  /** Events above a number, oldest first. */
  after(vaultId: Id<'vlt'>, seq: number, limit: number): Promise<readonly AuditEvent[]>;

  chainOf(vaultId: Id<'vlt'>): Promise<AuditChain>;

  /** Every vault that exists or has events: to delete a vault's chain does not hide its events. */
  vaultsToVerify(): Promise<readonly Id<'vlt'>[]>;

  /** The time of each vault's oldest event, by the vault's id; only ids above `after`. */
  oldest(page: {
    readonly after: Id<'vlt'> | undefined;
    readonly limit: number;
  }): Promise<readonly { readonly vaultId: Id<'vlt'>; readonly oldestAt: string | undefined }[]>;

  /**
   * Removes the oldest events of a vault's chain up to and including `to`, which becomes the chain's start.
   *
   * @returns false, with nothing removed, where the chain no longer starts at `from`
   */
  cutStart(vaultId: Id<'vlt'>, from: ChainHead, to: ChainHead): Promise<boolean>;

  /** Vaults with a bound webhook and events above their cursor, by id; only ids above `after`. */
  backlog(page: {
    readonly after: Id<'vlt'> | undefined;
    readonly limit: number;
  }): Promise<readonly ShippingBacklog[]>;

  /**
   * Moves a vault's cursor forward.
   *
   * @returns false, with nothing moved, where it is no longer at `from`: another process has shipped
   */
  markShipped(vaultId: Id<'vlt'>, from: number, to: number): Promise<boolean>;
}
