import { type Clock, formatTime } from '@svault/shared';
import type { AuditWriter } from './audit-writer.ts';
import type { NewAuditEvent } from '../core/audit-event.ts';
import { commonOrigin } from '../core/origin.ts';

/**
 * Coalesces denials that a caller can cause without limit into one event per caller, code and minute, with `count`: a
 * flood of requests fills neither the log nor the disk. Its origin is what all of them have in common.
 */
export type DenialCounter = ReturnType<typeof createDenialCounter>;

const MINUTE_MS = 60_000;

interface Bucket {
  event: NewAuditEvent;
  readonly minute: number;
  since: string;
  count: number;
}

/** Not a minute of any clock, so that the next flush takes it. */
const ANY_MINUTE = -1;

const callerAndCode = ({ agentId, proxyId, userId, detail }: NewAuditEvent): string =>
  `${agentId ?? proxyId ?? userId} ${String(detail?.['code'])}`;

export function createDenialCounter(options: {
  readonly audit: Pick<AuditWriter, 'record'>;
  readonly clock: Clock;
}) {
  const { audit, clock } = options;
  const buckets = new Map<string, Bucket>();

  const bucketOf = (event: NewAuditEvent): { readonly bucket: Bucket; readonly known: boolean } => {
    const nowMs = clock.now();
    const minute = Math.floor(nowMs / MINUTE_MS);
    const key = `${callerAndCode(event)} ${minute}`;
    const known = buckets.get(key);
    if (known !== undefined) {
      // The first of a minute may be written by itself, and then counts for nothing here.
      const origin = known.count === 0 ? event.origin : commonOrigin(known.event.origin, event.origin);
      known.event = { ...known.event, origin };
      return { bucket: known, known: true };
    }
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

  /** One bucket per caller and code for all minutes of an outage of the log, so that an outage does not fill the memory. */
  const putBack = (bucket: Bucket): void => {
    const key = `${callerAndCode(bucket.event)} late`;
    const late = buckets.get(key);
    if (late === undefined) buckets.set(key, { ...bucket, minute: ANY_MINUTE });
    else {
      late.event = { ...late.event, origin: commonOrigin(late.event.origin, bucket.event.origin) };
      late.count += bucket.count;
      late.since = late.since < bucket.since ? late.since : bucket.since;
    }
  };

  return {
    /** Counts a denial into its minute's event. */
    count: (event: NewAuditEvent): void => void bucketOf(event).bucket.count++,
    /** Counts a denial unless it is the first of its minute, which the caller writes at once. @returns whether it counted */
    countRepeat: (event: NewAuditEvent): boolean => {
      const { bucket, known } = bucketOf(event);
      if (known) bucket.count++;
      return known;
    },
    /**
     * Writes the events of every minute but the present one; with `everything`, of that one too. Denials that cannot be
     * written are kept, as one event for the whole outage of the log.
     */
    flush: async (everything = false): Promise<void> => {
      const minute = Math.floor(clock.now() / MINUTE_MS);
      const due = [...buckets].filter(([, bucket]) => everything || bucket.minute !== minute);
      await Promise.all(due.map(([key, bucket]) => write(key, bucket)));
    },
  };
}
