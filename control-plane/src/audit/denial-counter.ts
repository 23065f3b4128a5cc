import { type Clock, formatTime } from '@svault/shared';
import type { AuditWriter } from './audit-writer.ts';
import type { NewAuditEvent } from '../core/audit-event.ts';

/**
 * Denials that a caller can cause without limit, as one event per caller, code and minute with `count`: whoever
 * floods the service fills neither the log nor the disk (contract.md, "Events").
 */
export interface DenialCounter {
  /** Counts a denial into its minute's event. */
  count(event: NewAuditEvent): void;

  /**
   * For a denial whose first occurrence in a minute is written at once, by the caller.
   * @returns whether it is a further one; that one is counted
   */
  countRepeat(event: NewAuditEvent): boolean;

  /**
   * Writes the events of minutes that are over, and of those that a clock set back has not reached again; of all when
   * `everything`. What cannot be written is kept, as one event for all minutes that this lasts.
   */
  flush(everything?: boolean): Promise<void>;
}

const MINUTE_MS = 60_000;

interface Bucket {
  readonly event: NewAuditEvent;
  readonly minute: number;
  since: string;
  count: number;
}

/** No minute of any clock. */
const LONG_AGO = -1;

const callerAndCode = ({ agentId, proxyId, userId, detail }: NewAuditEvent): string =>
  `${agentId ?? proxyId ?? userId} ${String(detail?.['code'])}`;

export function createDenialCounter(options: {
  readonly audit: AuditWriter;
  readonly clock: Clock;
}): DenialCounter {
  const { audit, clock } = options;
  const buckets = new Map<string, Bucket>();

  /** @returns the minute's bucket, and whether it was there before */
  const bucketOf = (event: NewAuditEvent): { readonly bucket: Bucket; readonly known: boolean } => {
    const nowMs = clock.now();
    const minute = Math.floor(nowMs / MINUTE_MS);
    const key = `${callerAndCode(event)} ${minute}`;
    const known = buckets.get(key);
    if (known !== undefined) return { bucket: known, known: true };
    const bucket: Bucket = { event, minute, since: formatTime(nowMs), count: 0 };
    buckets.set(key, bucket);
    return { bucket, known: false };
  };

  const write = async (key: string, bucket: Bucket): Promise<void> => {
    buckets.delete(key);
    if (bucket.count === 0) return;
    const { event, since, count } = bucket;
    await audit.record({ ...event, count, detail: { ...event.detail, since } }).catch((error: unknown) => {
      putBack(bucket);
      throw error;
    });
  };

  /** One for all minutes in which the log took nothing, so that no outage of it fills the memory. */
  const putBack = (bucket: Bucket): void => {
    const key = `${callerAndCode(bucket.event)} late`;
    const late = buckets.get(key);
    if (late === undefined) buckets.set(key, { ...bucket, minute: LONG_AGO });
    else {
      late.count += bucket.count;
      late.since = late.since < bucket.since ? late.since : bucket.since;
    }
  };

  return {
    count: (event) => void bucketOf(event).bucket.count++,
    countRepeat: (event) => {
      const { bucket, known } = bucketOf(event);
      if (known) bucket.count++;
      return known;
    },
    flush: async (everything = false) => {
      const minute = Math.floor(clock.now() / MINUTE_MS);
      const due = [...buckets].filter(([, bucket]) => everything || bucket.minute !== minute);
      await Promise.all(due.map(([key, bucket]) => write(key, bucket)));
    },
  };
}
