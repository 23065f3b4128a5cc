import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, type Id, formatTime } from '@svault/shared';
import type { Logger } from '@svault/server-kit/logger';
import { AlreadyCounted, COUNTED_BUCKETS } from '../core/activity.ts';
import type { Stores, UnitOfWork } from '../core/stores.ts';
import { countsKeptMs, countsOf } from './activity.ts';
import { eachVault } from './each-vault.ts';

/** Events per transaction: a few milliseconds, between which requests are served. */
const EVENTS_PER_STEP = 500;
/** Of one vault in one run: a log that is long behind delays the others by a second. */
const STEPS_PER_RUN = 20;
const VAULTS_PER_PAGE = 500;
/** Counts removed by one statement. */
const REMOVED_PER_STEP = 1_000;

/**
 * Counts the credential requests of each vault's log by minute and hour, in the order of the log. A cursor per vault moves in
 * the transaction that adds the counts, so each event counts once, whichever process counts. Vaults without new events cost
 * nothing.
 *
 * @param options.auditRetentionDays undefined where the log is kept whole
 */
export function createActivityCounting(options: {
  readonly stores: Pick<Stores, 'activity' | 'audit'>;
  readonly unitOfWork: Pick<UnitOfWork, 'runAcross'>;
  readonly auditRetentionDays: number | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}) {
  const { stores, unitOfWork, auditRetentionDays, clock, logger } = options;
  let stopped = false;

  const countVault = async (vaultId: Id<'vlt'>, countedSeq: number): Promise<void> => {
    let from = countedSeq;
    for (let steps = 0; steps < STEPS_PER_RUN && !stopped; steps++) {
      const events = await stores.audit.after(vaultId, from, EVENTS_PER_STEP);
      const to = events.at(-1)?.seq;
      if (to === undefined) return;
      const step = { from, to, counts: countsOf(events) };
      // Without the account's lock, which credential requests wait for.
      await unitOfWork.runAcross(({ activity }) => activity.add(vaultId, step));
      if (events.length < EVENTS_PER_STEP) return;
      from = to;
      await nextTurn();
    }
  };

  return {
    /** Counts what has been written since the last run. After a stop the next run continues. */
    count: (): Promise<void> =>
      eachVault({
        page: (request) => stores.activity.backlog(request),
        limit: VAULTS_PER_PAGE,
        isStopped: () => stopped,
        work: ({ vaultId, countedSeq }) => countVault(vaultId, countedSeq),
        onError: (error, { vaultId }) => {
          if (error instanceof AlreadyCounted) return;
          logger.error(
            { err: error, vaultId },
            'credential requests could not be counted; it is tried again',
          );
        },
      }),
    /** Removes the counts that are older than they are kept. */
    removeOld: async (): Promise<void> => {
      for (const bucket of COUNTED_BUCKETS) {
        const before = formatTime(clock.now() - countsKeptMs(bucket, auditRetentionDays));
        while (!stopped && (await stores.activity.removeOld(bucket, before, REMOVED_PER_STEP)))
          await nextTurn();
      }
    },
    /** Ends a run after its present transaction. */
    stop: (): void => {
      stopped = true;
    },
  };
}
