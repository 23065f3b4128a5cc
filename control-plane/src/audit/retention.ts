import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, type Id, formatTime } from '@svault/shared';
import type { Logger } from '@svault/server-kit/logger';
import type { UnitOfWork } from '../core/stores.ts';
import type { AuditEvent } from '../core/audit-event.ts';
import type { AuditChain, AuditStore } from '../core/audit-store.ts';
import { followChain } from '@svault/shared/audit-chain';
import { eachVault } from './each-vault.ts';

/** Removes events that are older than the operator's retention from the old end of each vault's chain. */
export type AuditRetention = ReturnType<typeof createAuditRetention>;

const DAY_MS = 24 * 60 * 60_000;
/** Events per transaction: a few milliseconds, between which requests are served. */
const EVENTS_PER_STEP = 250;
const VAULTS_PER_PAGE = 100;

/**
 * @param options.days the age in days from which events are removed, with two exceptions: a vault's newest event, which the
 *   next one is linked to, and where a webhook is bound, events that it has not acknowledged
 */
export function createAuditRetention(options: {
  readonly log: Pick<AuditStore, 'oldest'>;
  readonly unitOfWork: UnitOfWork;
  readonly days: number;
  readonly clock: Clock;
  readonly logger: Logger;
}) {
  const { log, unitOfWork, days, clock, logger } = options;
  let stopped = false;

  /** @returns how many events were removed: 0 where none is due, or where the chain is broken */
  const step = (vaultId: Id<'vlt'>, before: string): Promise<number> =>
    unitOfWork.run(vaultId, async ({ audit, webhookLinks }) => {
      const chain = await audit.chainOf(vaultId);
      const bound = (await webhookLinks.find(vaultId)) !== undefined;
      const events = await audit.after(vaultId, chain.start.seq, EVENTS_PER_STEP);
      const due = dueEvents(events, { before, upTo: lastRemovable(chain, bound) });
      // A broken chain is kept as it is: to cut it after the break would hide the break.
      const reached = followChain(chain.start, due);
      if ('problem' in reached) {
        logger.error(
          { vaultId, ...reached },
          'the audit log does not verify, so no event is removed from it',
        );
        return 0;
      }
      return due.length > 0 && (await audit.cutStart(vaultId, chain.start, reached)) ? due.length : 0;
    });

  const trim = async (vaultId: Id<'vlt'>, before: string): Promise<void> => {
    let removed = 0;
    for (let more = true; more && !stopped;) {
      const count = await step(vaultId, before);
      removed += count;
      more = count === EVENTS_PER_STEP;
      await nextTurn();
    }
    if (removed > 0) logger.info({ vaultId, removed, before }, 'old audit events were removed');
  };

  return {
    /** Removes all events that are due, in short transactions. After a stop the next run continues. */
    run: async (): Promise<void> => {
      const before = formatTime(clock.now() - days * DAY_MS);
      await eachVault({
        page: (request) => log.oldest(request),
        limit: VAULTS_PER_PAGE,
        isStopped: () => stopped,
        work: async ({ vaultId, oldestAt }) => {
          if (oldestAt !== undefined && oldestAt < before) await trim(vaultId, before);
        },
        onError: (error, { vaultId }) =>
          logger.error({ err: error, vaultId }, 'old audit events could not be removed; it is tried again'),
      });
    },
    /** Ends a run after its present transaction. */
    stop: (): void => {
      stopped = true;
    },
  };
}

const lastRemovable = ({ head, shippedSeq }: AuditChain, bound: boolean): number =>
  bound ? Math.min(head.seq - 1, shippedSeq) : head.seq - 1;

/** The oldest events up to the first that is not due: an event whose clock was behind waits for those before it. */
function dueEvents(
  events: readonly AuditEvent[],
  { before, upTo }: { readonly before: string; readonly upTo: number },
): readonly AuditEvent[] {
  const kept = events.findIndex(({ seq, timestamp }) => seq > upTo || timestamp >= before);
  return kept === -1 ? events : events.slice(0, kept);
}
