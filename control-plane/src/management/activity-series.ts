import { type Clock, type Id, formatTime } from '@svault/shared';
import { countsKeptMs, readActivity } from '../audit/activity.ts';
import { type ActivityCounts, type Bucket, startOf, sumByOutcome } from '../core/activity.ts';
import { invalidArgument } from '../core/errors.ts';
import type { Stores } from '../core/stores.ts';

const MINUTE_MS = 60_000;

interface BucketLimits {
  readonly ms: number;
  /** Of one series. */
  readonly max: number;
  /** Where the request does not say from when. */
  readonly usual: number;
}

/** Length and number of the buckets of a series. */
export const BUCKETS: Readonly<Record<Bucket, BucketLimits>> = {
  minute: { ms: MINUTE_MS, max: 180, usual: 60 },
  hour: { ms: 60 * MINUTE_MS, max: 168, usual: 24 },
  day: { ms: 24 * 60 * MINUTE_MS, max: 90, usual: 30 },
};

/** A list of buckets without gaps. */
export interface ActivitySeries {
  readonly bucket: Bucket;
  /** The start of the first bucket. */
  readonly from: string;
  /** The end of the last one. */
  readonly to: string;
  /** Counts of earlier times may have been removed. */
  readonly since: string;
  /** False while the newest events are not counted yet. */
  readonly complete: boolean;
  readonly buckets: readonly (ActivityCounts & { readonly start: string })[];
}

interface SeriesRequest {
  readonly bucket: Bucket;
  readonly agentId: Id<'agt'> | undefined;
  /** Milliseconds since 1970. */
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
}

/**
 * Counts an account's credential requests over time; it costs the same for a log of any length.
 *
 * @throws ApiError INVALID_ARGUMENT for times in the wrong order, or too many buckets
 */
export async function readActivitySeries(
  dependencies: {
    readonly stores: Pick<Stores, 'activity' | 'audit'>;
    readonly auditRetentionDays: number | undefined;
    readonly clock: Clock;
  },
  vaultId: Id<'vlt'>,
  request: SeriesRequest,
): Promise<ActivitySeries> {
  const { stores, auditRetentionDays, clock } = dependencies;
  const { bucket, agentId } = request;
  const nowMs = clock.now();
  const starts = startsOf(request, nowMs);
  const [from = ''] = starts;
  const to = formatTime(Date.parse(from) + starts.length * BUCKETS[bucket].ms);
  const counted = bucket === 'minute' ? 'minute' : 'hour';
  const keptSince = formatTime(nowMs - countsKeptMs(counted, auditRetentionDays));
  const agentIds = agentId && [agentId];
  const { counts, complete } = await readActivity(stores, vaultId, { agentIds, bucket: counted, from, to });
  const byStart = Map.groupBy(counts, ({ startsAt }) => startOf(bucket, startsAt));
  return {
    ...{ bucket, from, to, complete },
    since: keptSince > from ? keptSince : from,
    buckets: starts.map((start) => ({ start, ...sumByOutcome(byStart.get(start) ?? []) })),
  };
}

/** The starts of all buckets that the requested times touch; up to the present one unless the request says otherwise. */
function startsOf({ bucket, fromMs, toMs }: SeriesRequest, nowMs: number): readonly string[] {
  const { ms, max, usual } = BUCKETS[bucket];
  const end = toMs === undefined ? Math.floor(nowMs / ms) + 1 : Math.ceil(toMs / ms);
  const begin = fromMs === undefined ? end - usual : Math.floor(fromMs / ms);
  if (begin >= end || (fromMs ?? -Infinity) >= (toMs ?? Infinity))
    throw invalidArgument([{ path: 'from', message: 'must be before `to`, which is now unless given' }]);
  if (end - begin > max)
    throw invalidArgument([{ path: 'from', message: `is ${end - begin} buckets before \`to\`; ${BOUNDS}` }]);
  return Array.from({ length: end - begin }, (_, index) => formatTime((begin + index) * ms));
}

/** The largest series of each bucket, in words. */
export const BOUNDS = `a series has at most ${BUCKETS.minute.max} minutes, ${BUCKETS.hour.max} hours or ${BUCKETS.day.max} days`;
