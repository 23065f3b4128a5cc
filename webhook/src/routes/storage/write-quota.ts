import type { Clock } from '@svault/shared';
import { ApiError } from '../../errors.ts';
import type { Metrics } from '../../metrics.ts';

/** Each has a bucket, so a flood of events stops no owner from storing. */
type QuotaKind = 'audit' | 'records';

const KiB = 1_024;
const MiB = 1_024 * KiB;

/**
 * An account may cause 3,000 requests a minute, whose events take about 32 KiB a second: half of the refill. The burst
 * holds the log of more than half an hour of that, or 100,000 small records.
 */
const BUCKETS: Readonly<Record<QuotaKind, { readonly burstBytes: number; readonly bytesPerSecond: number }>> =
  {
    audit: { burstBytes: 64 * MiB, bytesPerSecond: 64 * KiB },
    records: { burstBytes: 64 * MiB, bytesPerSecond: 16 * KiB },
  };

/** What a row takes besides its texts: hash, ids, indexes, its entry in the log. */
export const ROW_OVERHEAD_BYTES = 256;

/**
 * How much the control plane may have this webhook write, as leaky buckets in this process: a compromised control plane
 * has a valid key, and must not fill the disk with it in minutes.
 */
export function createWriteQuota(clock: Pick<Clock, 'monotonic'>, countDenial: Metrics['writeQuotaDenials']) {
  const used = new Map<QuotaKind, { readonly bytes: number; readonly atMs: number }>();
  return {
    /**
     * Counts bytes before they are written.
     *
     * @throws ApiError RATE_LIMITED with `retryAfter` if the bucket has no room; it counts nothing then
     */
    take: (kind: QuotaKind, bytes: number): void => {
      const { burstBytes, bytesPerSecond } = BUCKETS[kind];
      const nowMs = clock.monotonic();
      const before = used.get(kind) ?? { bytes: 0, atMs: nowMs };
      const left = Math.max(0, before.bytes - ((nowMs - before.atMs) / 1_000) * bytesPerSecond);
      const after = left + bytes;
      if (after > burstBytes) {
        countDenial({ kind });
        const retryAfter = Math.max(1, Math.ceil((after - burstBytes) / bytesPerSecond));
        throw new ApiError('RATE_LIMITED', `too much was written; wait ${retryAfter} seconds`, {
          details: { retryAfter },
          reason: `write_quota_${kind}`,
        });
      }
      used.set(kind, { bytes: after, atMs: nowMs });
    },
  };
}

export type WriteQuota = ReturnType<typeof createWriteQuota>;
