import type { Id } from '@svault/shared';
import type { Outcome } from '@svault/shared/schemas';

/** The times that counts are kept by; days are summed from hours. */
export const COUNTED_BUCKETS = ['minute', 'hour'] as const;
export type CountedBucket = (typeof COUNTED_BUCKETS)[number];
export type Bucket = CountedBucket | 'day';

/** How much of a time is the same in a whole bucket, and what follows at its start. */
const STARTS: Readonly<Record<Bucket, readonly [characters: number, rest: string]>> = {
  minute: [16, ':00.000Z'],
  hour: [13, ':00:00.000Z'],
  day: [10, 'T00:00:00.000Z'],
};

/** The start of the bucket, aligned in UTC, that a time is in. @param time `YYYY-MM-DDTHH:MM:SS.sssZ` */
export function startOf(bucket: Bucket, time: string): string {
  const [characters, rest] = STARTS[bucket];
  return time.slice(0, characters) + rest;
}

/** Requests of one outcome in one bucket, of the whole account or of an agent. */
export interface ActivityCount {
  /** Undefined: of the whole account. */
  readonly agentId: Id<'agt'> | undefined;
  readonly bucket: CountedBucket;
  readonly startsAt: string;
  readonly outcome: Outcome;
  readonly requests: number;
}

/** Outcomes of the credential requests of agents and proxies. */
export interface ActivityCounts {
  readonly accesses: number;
  readonly denied: number;
  readonly rateLimited: number;
  readonly errors: number;
}

const MEMBERS: Readonly<Record<Outcome, keyof ActivityCounts>> = {
  success: 'accesses',
  denied: 'denied',
  rate_limited: 'rateLimited',
  error: 'errors',
};

/** The requests of each outcome. */
export function sumByOutcome(counts: Iterable<Pick<ActivityCount, 'outcome' | 'requests'>>): ActivityCounts {
  const sum = { accesses: 0, denied: 0, rateLimited: 0, errors: 0 };
  for (const { outcome, requests } of counts) sum[MEMBERS[outcome]] += requests;
  return sum;
}

/** A vault with events that are not counted yet. */
interface CountingBacklog {
  readonly vaultId: Id<'vlt'>;
  /** The last event that is in the counts; 0 where none is. */
  readonly countedSeq: number;
}

/** A step of the counting began where the counts no longer end: another process was faster. Its transaction is undone. */
export class AlreadyCounted extends Error {}

/** Counts of credential requests by time, which a background job makes from the log. */
export interface ActivityStore {
  /** Vaults with events above their cursor, by id; only ids above `after`. */
  backlog(page: {
    readonly after: Id<'vlt'> | undefined;
    readonly limit: number;
  }): Promise<readonly CountingBacklog[]>;

  /**
   * Adds the counts of the events above `from` up to and including `to`. Within a transaction only.
   *
   * @throws AlreadyCounted
   */
  add(
    vaultId: Id<'vlt'>,
    step: { readonly from: number; readonly to: number; readonly counts: readonly ActivityCount[] },
  ): Promise<void>;

  /**
   * The counts in buckets that start from `from` (inclusive) to `to` (exclusive), and as of the same moment the last event
   * that is in them and the last one of the log.
   *
   * @param request.agentIds undefined: those of the whole account
   */
  read(
    vaultId: Id<'vlt'>,
    request: {
      readonly agentIds: readonly Id<'agt'>[] | undefined;
      readonly bucket: CountedBucket;
      readonly from: string;
      readonly to: string;
    },
  ): Promise<{
    readonly counts: readonly ActivityCount[];
    readonly countedSeq: number;
    readonly headSeq: number;
  }>;

  /** Of each of these hours the largest counts of agents, the largest first, so many at most. */
  largest(
    vaultId: Id<'vlt'>,
    hours: readonly string[],
    perHour: number,
  ): Promise<
    readonly { readonly agentId: Id<'agt'>; readonly startsAt: string; readonly requests: number }[]
  >;

  /**
   * Removes counts of buckets that start before a time, the oldest first.
   *
   * @returns whether more may be left
   */
  removeOld(bucket: CountedBucket, before: string, limit: number): Promise<boolean>;
}
