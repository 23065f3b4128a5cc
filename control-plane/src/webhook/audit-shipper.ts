import type { Logger } from '@svault/server-kit/logger';
import type { Clock, Id } from '@svault/shared';
import type { AuditStore } from '../core/audit-store.ts';
import { type Reports, createAccountTasks, loggedReports } from './account-tasks.ts';
import { type AuditDestination, cutBatch } from './audit-delivery.ts';

/**
 * So few that serialising a batch blocks requests for no more than a few milliseconds. Four rounds a second still ship
 * twenty times what the account-wide request limit lets an account write.
 */
const EVENTS_PER_ROUND = 250;
const VAULTS_PER_ROUND = 20;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;

/**
 * Ships the audit log to the webhooks: at least once, and in order. The outbox is the log itself and a cursor for each
 * vault, both in the database, so a kill loses nothing.
 */
export type AuditShipper = ReturnType<typeof createAuditShipper>;

export function createAuditShipper(options: {
  readonly log: Pick<AuditStore, 'backlog' | 'after'>;
  readonly destination: AuditDestination;
  readonly clock: Clock;
  readonly logger: Logger;
}) {
  const { log, destination, clock, logger } = options;
  const stopping = new AbortController();
  const tasks = createAccountTasks({ clock, firstPauseMs: FIRST_PAUSE_MS, maxPauseMs: MAX_PAUSE_MS });

  const shipVault = async (vaultId: Id<'vlt'>, shippedSeq: number): Promise<void> => {
    try {
      const events = cutBatch(await log.after(vaultId, shippedSeq, EVENTS_PER_ROUND));
      if (events.length === 0 || stopping.signal.aborted) return;
      await destination.deliver({ vaultId, shippedSeq, events }, stopping.signal);
    } catch (error) {
      if (!stopping.signal.aborted) throw error;
    }
  };
  const reportsOf = (vaultId: Id<'vlt'>): Reports => {
    const reports = loggedReports(logger, vaultId, {
      failed: 'the audit log cannot be delivered to the webhook',
      recovered: 'the audit log is delivered to the webhook again',
    });
    // A call that a stop aborts neither fails nor succeeds.
    return { ...reports, recovered: () => void (stopping.signal.aborted || reports.recovered()) };
  };

  /** The last vault of the former round. */
  let after: Id<'vlt'> | undefined;

  return {
    /**
     * Starts a round: one batch for each vault in a round-robin over those with events to ship. It waits for no webhook, so
     * that a slow one delays only its own account's log.
     */
    ship: async (): Promise<void> => {
      const waiting = await log.backlog({ after, limit: VAULTS_PER_ROUND + tasks.busyAccounts });
      const due = waiting.filter(({ vaultId }) => tasks.canStart(vaultId)).slice(0, VAULTS_PER_ROUND);
      after = due.length === VAULTS_PER_ROUND ? due.at(-1)?.vaultId : undefined;
      for (const { vaultId, shippedSeq } of due)
        tasks.start(vaultId, () => shipVault(vaultId, shippedSeq), reportsOf(vaultId));
    },
    settled: tasks.settled,
    /** Aborts the calls in flight; the next process ships their events again. */
    stop: async (): Promise<void> => {
      stopping.abort();
      await tasks.settled();
    },
  };
}
