import type { Logger } from '@svault/server-kit/logger';
import type { Id } from '@svault/shared';
import type { AgentCredential } from '../core/agent-credential.ts';
import { refusal } from '../core/errors.ts';
import type { NewAuditEvent } from '../core/audit-event.ts';
import type { LifetimeUse } from '../core/policy.ts';

/** One line of what is to be written before an answer goes out. */
export interface AuditEntry {
  readonly event: NewAuditEvent;
  /** Write the event's time to the `lastUsedAt` of its agent or proxy as well, in the same transaction. */
  readonly touchCaller: boolean;
  /** Write the event only if this still holds within the transaction. */
  readonly provided: StandingAccess | undefined;
}

/** What an access that was granted rests on. */
export type StandingAccess = StandingAgentAccess | StandingProxyUse;

interface Standing {
  /** Of the vault, which is not locked: no policy or attachment has changed since the decision. */
  readonly policyRevision: number;
  /** Counted with the event, all or none; where one has no room left the access does not stand. */
  readonly uses: readonly LifetimeUse[];
}

export interface StandingAgentAccess extends Standing {
  readonly caller: 'agent';
  /** That was shown: it is the agent's still, and the agent is active. */
  readonly credential: AgentCredential;
  /** The agent has MCP on. */
  readonly withMcpOn: boolean;
  readonly grantId: Id<'grt'>;
  readonly webhookId: string;
}

export interface StandingProxyUse extends Standing {
  readonly caller: 'proxy';
  /** That was shown: it is an active proxy's still. */
  readonly keyHash: string;
  /** Of the proxy: where it leads to, and with which credential, is as it was. */
  readonly revision: number;
  /** Whom it acts for, active; null where that is nobody. */
  readonly agentId: Id<'agt'> | null;
  /** Null where the use needs none. */
  readonly webhookId: string | null;
}

/** Where entries become durable. */
export interface AuditCommit {
  /**
   * Writes an entry behind the head of its vault's chain, in one durable transaction with others that come at the same
   * time.
   *
   * @returns false where it was left out, since what it was provided with does not hold any more
   */
  write(entry: AuditEntry): Promise<boolean>;
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
    options?: { readonly touchCaller?: boolean; readonly provided?: StandingAccess },
  ): Promise<boolean>;
}

/** Seconds after which a caller may try again when the log could not be written. */
const RETRY_AFTER_SECONDS = 5;

export function createAuditWriter({
  log,
  logger,
}: {
  readonly log: AuditCommit;
  readonly logger: Logger;
}): AuditWriter {
  /** What is written together fails together: that is told once. */
  let told: unknown;
  return {
    record: (event, { touchCaller = false, provided } = {}) =>
      log.write({ event, touchCaller, provided }).catch((cause: unknown) => {
        if (cause !== told) logger.error({ err: cause }, 'the audit log could not be written');
        told = cause;
        throw refusal(
          'AUDIT_UNAVAILABLE',
          'The access cannot be recorded now, so it is refused. Try again later.',
          {
            cause,
            details: { retryAfter: RETRY_AFTER_SECONDS },
          },
        );
      }),
  };
}
