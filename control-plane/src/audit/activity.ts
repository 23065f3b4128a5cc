import { type Id, formatTime } from '@svault/shared';
import { type ActivityCount, COUNTED_BUCKETS, type CountedBucket, startOf } from '../core/activity.ts';
import { type AuditEvent, isCredentialRequest } from '../core/audit-event.ts';
import type { Stores } from '../core/stores.ts';

const DAY_MS = 24 * 60 * 60_000;
const MINUTES_KEPT_DAYS = 2;
const HOURS_KEPT_DAYS = 400;

/**
 * How long counts are kept: as long as the log, but those of minutes no longer than two days and those of hours no longer
 * than 400.
 *
 * @param retentionDays of the log; undefined where it is kept whole
 */
export function countsKeptMs(bucket: CountedBucket, retentionDays = Infinity): number {
  return Math.min(bucket === 'hour' ? HOURS_KEPT_DAYS : MINUTES_KEPT_DAYS, retentionDays) * DAY_MS;
}

/** The credential requests among events, each by its `count`, for the account and for each agent. */
export function countsOf(events: readonly AuditEvent[]): readonly ActivityCount[] {
  const counts = new Map<string, ActivityCount>();
  for (const event of events) {
    if (!isCredentialRequest(event)) continue;
    const { outcome, timestamp, agentId, count = 1 } = event;
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

const HOUR_MS = 60 * 60_000;

/** The present hour and those before it, as many as `hours` together, in whole buckets. */
export function lastHours(hours: number, nowMs: number) {
  const end = Math.floor(nowMs / HOUR_MS) + 1;
  const starts = Array.from({ length: hours }, (_, index) => formatTime((end - hours + index) * HOUR_MS));
  return { from: starts[0] ?? '', to: formatTime(end * HOUR_MS), starts };
}

/** Events that the background job has not counted yet and a request counts: a few milliseconds, and seconds of a busy log. */
const MAX_UNCOUNTED = 5_000;

export interface ActivityStores {
  readonly activity: Pick<Stores['activity'], 'read'>;
  readonly audit: Pick<Stores['audit'], 'after'>;
}

/** Buckets from `from` (inclusive) to `to` (exclusive), both starts of buckets. */
export interface ActivityRequest {
  /** Undefined: the counts of the whole account. */
  readonly agentIds: readonly Id<'agt'>[] | undefined;
  readonly bucket: CountedBucket;
  readonly from: string;
  readonly to: string;
}

export interface Activity {
  readonly counts: readonly ActivityCount[];
  /** False while the newest of many events are not counted yet. */
  readonly complete: boolean;
}

/**
 * Counts of credential requests. What the background job has not counted yet is counted from the log, so that no request is
 * missing after its answer.
 */
export async function readActivity(
  stores: ActivityStores,
  vaultId: Id<'vlt'>,
  request: ActivityRequest,
): Promise<Activity> {
  const agentIds: readonly (Id<'agt'> | undefined)[] = request.agentIds ?? [undefined];
  const { counts, uncounted, complete } = await readCounts(stores, vaultId, request);
  return {
    counts: [...counts, ...uncounted.filter(({ agentId }) => agentIds.includes(agentId))],
    complete,
  };
}

/** The same with what is not counted yet apart: that of the account and of all of its agents. */
export async function readCounts(
  { activity, audit }: ActivityStores,
  vaultId: Id<'vlt'>,
  request: ActivityRequest,
): Promise<Activity & { readonly uncounted: readonly ActivityCount[] }> {
  const { bucket, from, to } = request;
  const { counts, countedSeq, headSeq } = await activity.read(vaultId, request);
  const rest = countedSeq < headSeq ? await audit.after(vaultId, countedSeq, MAX_UNCOUNTED) : [];
  return {
    counts,
    uncounted: countsOf(rest).filter(
      (count) => count.bucket === bucket && count.startsAt >= from && count.startsAt < to,
    ),
    complete: headSeq - countedSeq <= MAX_UNCOUNTED,
  };
}
