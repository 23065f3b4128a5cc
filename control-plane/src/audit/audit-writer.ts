import type { Logger } from '@svault/server-kit/logger';
import { ApiError } from '../core/errors.ts';
import type { NewAuditEvent } from '../core/audit-event.ts';
import type { LifetimeUse } from '../core/policy.ts';

/** One event that is to be durable before an answer goes out. */
export interface AuditEntry {
  readonly event: NewAuditEvent;
  /** Write the event's time to the `lastUsedAt` of its agent or proxy as well, in the same transaction. */
  readonly touchCaller: boolean;
  /** Write the event only if this still holds within the transaction. */
  readonly onlyIf: AccessPrecondition | undefined;
}

/** The state that an allowed access was decided on. Where it has changed, the access is not written, and decided anew. */
export interface AccessPrecondition {
  /** Of the account when the decision read it: each change that a decision may depend on raises it (`changesDecisions`). */
  readonly accountRevision: number;
  /** When the shown access token expires; null for a key. */
  readonly expiresAt: string | null;
  /** Counted with the event, all or none; where one has no room left the precondition fails. */
  readonly uses: readonly LifetimeUse[];
}

/** The part of a precondition that time alone decides. */
export const isExpired = ({ onlyIf }: AuditEntry, now: string): boolean =>
  onlyIf !== undefined && onlyIf.expiresAt !== null && onlyIf.expiresAt <= now;

/** An event that is committed: every later change comes after it, and it survives the end of this process. */
export interface CommittedEvent {
  /** Resolves when the event is on the disk, and so survives a power cut too. */
  readonly durable: Promise<void>;
}

/** Makes entries durable. */
export interface AuditCommit {
  /**
   * Appends an entry to its vault's chain, in one durable transaction with other entries of the same moment.
   *
   * @returns false where its precondition failed: then nothing was written
   */
  write(entry: AuditEntry): Promise<boolean>;
  /**
   * The same, without waiting for the disk.
   *
   * @returns undefined where its precondition failed: then nothing was written
   */
  commit(entry: AuditEntry): Promise<CommittedEvent | undefined>;
}

/** Writes to the log on the hot path. */
export interface AuditWriter {
  /**
   * Resolves when the event is on the disk: only then may the answer that it reports go out.
   *
   * @param options.onlyIf for an allowed access: a suspend, revoke, lock or unbind that was answered between the decision
   *   and this write makes it fail
   * @returns whether it was written; false only where its precondition failed
   * @throws ApiError `AUDIT_UNAVAILABLE` when it could not be written: no audit row, no ticket
   */
  record(event: NewAuditEvent, options?: RecordOptions): Promise<boolean>;
  /**
   * Resolves when the event is committed, which may be before it is on the disk. The answer that it reports waits for
   * `durable`.
   *
   * @returns undefined where its precondition failed; `durable` rejects with `AUDIT_UNAVAILABLE`
   * @throws ApiError `AUDIT_UNAVAILABLE` when it could not be written: then it is not in the log
   */
  commit(event: NewAuditEvent, options?: RecordOptions): Promise<CommittedEvent | undefined>;
}

interface RecordOptions {
  readonly touchCaller?: boolean;
  readonly onlyIf?: AccessPrecondition;
}

/** Seconds after which a caller may try again when the log could not be written. */
const RETRY_AFTER_SECONDS = 5;

export const auditUnavailable = (cause: unknown): ApiError =>
  new ApiError('AUDIT_UNAVAILABLE', 'The access cannot be recorded now, so it is refused. Try again later.', {
    cause,
    details: { retryAfter: RETRY_AFTER_SECONDS },
  });

export function createAuditWriter(options: {
  readonly log: AuditCommit;
  readonly logger: Logger;
}): AuditWriter {
  const { log, logger } = options;
  /** Events of one transaction fail by one error, which is logged once. */
  let logged: unknown;
  const fail = (cause: unknown): never => {
    if (cause !== logged) logger.error({ err: cause }, 'the audit log could not be written');
    logged = cause;
    throw auditUnavailable(cause);
  };
  return {
    record: (event, { touchCaller = false, onlyIf } = {}) =>
      log.write({ event, touchCaller, onlyIf }).catch(fail),
    commit: async (event, { touchCaller = false, onlyIf } = {}) => {
      const committed = await log.commit({ event, touchCaller, onlyIf }).catch(fail);
      if (committed === undefined) return undefined;
      const durable = committed.durable.catch(fail);
      // The caller may have ended before the disk has failed.
      durable.catch(() => undefined);
      return { durable };
    },
  };
}
