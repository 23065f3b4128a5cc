import type { Logger } from '@svault/server-kit/logger';
import type { Id } from '@svault/shared';
import { refusal } from '../errors.ts';
import type { LifetimeUse } from '../policies/policy-verdict.ts';
import type { NewAuditEvent } from './audit-event.ts';

/** One line of what is to be written before an answer goes out. */
export interface AuditEntry {
  readonly event: NewAuditEvent;
  /** Write the event's time to its agent's `lastUsedAt` as well, in the same transaction. */
  readonly touchAgent: boolean;
  /** Write the event only if this still holds within the transaction. */
  readonly provided: StandingAccess | undefined;
}

/** What an access that was granted rests on. */
export interface StandingAccess {
  /** Of the key that was presented: the agent has it still, and is active; its vault is not locked. */
  readonly keyHash: string;
  readonly grantId: Id<'grt'>;
  readonly webhookId: string;
  /** Of the vault: no policy or attachment has changed since the decision. */
  readonly policyRevision: number;
  /** Counted with the event, all or none; where one has no room left the access does not stand. */
  readonly uses: readonly LifetimeUse[];
}

/** Where entries become durable. */
export interface AuditCommit {
  /**
   * Writes the entries that `take` hands over in one durable transaction, each behind the head of its vault's chain.
   * `take` is called once the transaction begins, so whatever has come by then travels with it; called again it
   * hands over the same entries.
   *
   * @returns the entries that were left out, since what they were provided with does not hold any more
   */
  commit(take: () => readonly AuditEntry[]): Promise<ReadonlySet<AuditEntry>>;
}

/** The hot path's way into the log. */
export interface AuditWriter {
  /**
   * Resolves when the event is on the disk: only then may the answer that it reports go out.
   *
   * @param options.provided for an access: between decision and log a suspend, revoke, lock or unbinding may have been
   *   answered, and then neither the log nor the agent may be told of an access
   * @returns whether it was written; false only where what it was provided with does not hold any more
   * @throws AppError `AUDIT_UNAVAILABLE` when it could not be written: no audit row, no ticket
   */
  record(
    event: NewAuditEvent,
    options?: { readonly touchAgent?: boolean; readonly provided?: StandingAccess },
  ): Promise<boolean>;
}

/** Seconds after which a caller may try again when the log could not be written. */
const RETRY_AFTER_SECONDS = 5;

/** Everything that is recorded within one turn of the event loop shares one transaction and one promise. */
export function createAuditWriter(options: {
  readonly log: AuditCommit;
  readonly logger: Logger;
}): AuditWriter {
  let open:
    { readonly entries: AuditEntry[]; readonly leftOut: Promise<ReadonlySet<AuditEntry>> } | undefined;

  const begin = (): NonNullable<typeof open> => {
    const entries: AuditEntry[] = [];
    const take = (): readonly AuditEntry[] => {
      if (open?.entries === entries) open = undefined;
      return entries;
    };
    const leftOut = options.log.commit(take).catch((cause: unknown) => {
      // A transaction that never began took nothing: its entries are refused, not left for a later one.
      take();
      options.logger.error({ err: cause, events: entries.length }, 'the audit log could not be written');
      throw refusal('AUDIT_UNAVAILABLE', 'The access cannot be recorded now, so it is refused.', {
        cause,
        details: { retryAfter: RETRY_AFTER_SECONDS },
      });
    });
    return { entries, leftOut };
  };

  return {
    record: async (event, { touchAgent = false, provided } = {}) => {
      open ??= begin();
      const entry: AuditEntry = { event, touchAgent, provided };
      open.entries.push(entry);
      return !(await open.leftOut).has(entry);
    },
  };
}
