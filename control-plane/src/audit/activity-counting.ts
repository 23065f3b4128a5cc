import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, formatTime } from '@svault/shared';
import type { Logger } from '@svault/server-kit/logger';
import {
  type ActivityCount,
  COUNTED_BUCKETS,
  type CountedBucket,
  type CountingProgress,
  startOf,
} from '../core/activity.ts';
import { type AuditEvent, CREDENTIAL_REQUESTS } from '../core/audit-event.ts';
import type { Stores, UnitOfWork } from '../core/stores.ts';
import { eachVault } from './each-vault.ts';

const DAY_MS = 24 * 60 * 60_000;
const MINUTES_KEPT_MS = 2 * DAY_MS;

/** How long counts are kept: those of minutes two days, those of hours as long as the log; undefined: without end. */
export function countsKeptMs(bucket: CountedBucket, retentionDays: number | undefined): number | undefined {
  const asLongAsTheLog = retentionDays === undefined ? undefined : retentionDays * DAY_MS;
  return bucket === 'hour' ? asLongAsTheLog : Math.min(MINUTES_KEPT_MS, asLongAsTheLog ?? Infinity);
}

/** Events per transaction: a few milliseconds, between which requests are served. */
const EVENTS_PER_STEP = 500;
/** Of one vault in one run: a log that is long behind delays the others by a second. */
const STEPS_PER_RUN = 20;
const VAULTS_PER_PAGE = 500;

/**
 * Counts the credential requests of each vault's log by minute and hour, in the order of the log. A cursor per vault moves in
 * the transaction that adds the counts, so each event counts once, whichever process counts.
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

  const countVault = async ({ vaultId, countedSeq }: CountingProgress): Promise<void> => {
    let from = countedSeq;
    for (let steps = 0; steps < STEPS_PER_RUN && !stopped; steps++) {
      const events = await stores.audit.after(vaultId, from, EVENTS_PER_STEP);
      const to = events.at(-1)?.seq;
      if (to === undefined) return;
      const step = { from, to, counts: countsOf(events) };
      // Without the account's lock, which credential requests wait for: the cursor tells whether another process was faster.
      if (!(await unitOfWork.runAcross(({ activity }) => activity.add(vaultId, step)))) return;
      if (events.length < EVENTS_PER_STEP) return;
      from = to;
      await nextTurn();
    }
  };

  return {
    /** Counts what has been written since the last run. After a stop the next run continues. */
    count: (): Promise<void> =>
      eachVault({
        page: (request) => stores.activity.progress(request),
        limit: VAULTS_PER_PAGE,
        isStopped: () => stopped,
        work: async (vault) => {
          if (vault.countedSeq < vault.headSeq) await countVault(vault);
        },
        onError: (error, { vaultId }) =>
          logger.error(
            { err: error, vaultId },
            'credential requests could not be counted; it is tried again',
          ),
      }),
    /** Removes the counts that are older than they are kept, one bucket after another. */
    removeOld: async (): Promise<void> => {
      for (const bucket of COUNTED_BUCKETS) {
        const keptMs = countsKeptMs(bucket, auditRetentionDays);
        if (keptMs === undefined) continue;
        const before = formatTime(clock.now() - keptMs);
        while (!stopped && (await stores.activity.removeOldest(bucket, before))) await nextTurn();
      }
    },
    /** Ends a run after its present transaction. */
    stop: (): void => {
      stopped = true;
    },
  };
}

/** The credential requests among events, each by its `count`, for the account and for each agent. */
function countsOf(events: readonly AuditEvent[]): readonly ActivityCount[] {
  const counts = new Map<string, ActivityCount>();
  for (const { eventType, outcome, timestamp, agentId, count = 1 } of events) {
    if (!CREDENTIAL_REQUESTS.includes(eventType)) continue;
    for (const bucket of COUNTED_BUCKETS)
      for (const of of agentId === undefined ? [undefined] : [undefined, agentId]) {
        const startsAt = startOf(bucket, timestamp);
        const key = [of, bucket, startsAt, outcome].join(' ');
        const requests = (counts.get(key)?.requests ?? 0) + count;
        counts.set(key, { agentId: of, bucket, startsAt, outcome, requests });
      }
  }
  return [...counts.values()];
}
