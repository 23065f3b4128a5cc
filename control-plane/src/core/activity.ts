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

/** How far the log of a vault is counted. */
export interface CountingProgress {
  readonly vaultId: Id<'vlt'>;
  /** The last event that is in the counts; 0 where none is. */
  readonly countedSeq: number;
  readonly headSeq: number;
}

/** Counts of credential requests by time. A background job makes them from the log; a request adds what is not counted yet. */
export interface ActivityStore {
  /** Vaults with a log, by id; only ids above `after`. */
  progress(page: {
    readonly after: Id<'vlt'> | undefined;
    readonly limit: number;
  }): Promise<readonly CountingProgress[]>;

  progressOf(vaultId: Id<'vlt'>): Promise<Omit<CountingProgress, 'vaultId'>>;

  /**
   * Adds the counts of the events above `from` up to and including `to`. Within a transaction only.
   *
   * @returns false, with nothing added, where the counts no longer end at `from`: another process has added them
   */
  add(
    vaultId: Id<'vlt'>,
    step: { readonly from: number; readonly to: number; readonly counts: readonly ActivityCount[] },
  ): Promise<boolean>;

  /**
   * Requests at times from `from` (inclusive) to `to` (exclusive), both starts of buckets: the counts, and the events behind
   * them that are not counted yet, as of one moment.
   *
   * @param request.uncounted how many of those events are read at most, the oldest first
   */
  read(
    vaultId: Id<'vlt'>,
    request: {
      readonly agentId: Id<'agt'> | undefined;
      readonly bucket: CountedBucket;
      readonly from: string;
      readonly to: string;
      readonly uncounted: number;
    },
  ): Promise<readonly { readonly at: string; readonly outcome: string; readonly requests: number }[]>;

  /**
   * Removes the counts of all vaults in the oldest bucket, where it starts before a time.
   *
   * @returns false where none does
   */
  removeOldest(bucket: CountedBucket, before: string): Promise<boolean>;
}
