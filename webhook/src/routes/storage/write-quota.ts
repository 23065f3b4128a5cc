import type { Clock } from '@svault/shared';
import { refusal } from '../../errors.ts';

/**
 * How much a service may have this webhook write: a compromised control plane holds the right key, and must not fill the
 * disk with it in minutes.
 */
export interface WriteQuota {
  /**
   * Counts bytes that are about to be written.
   *
   * @throws AppError RATE_LIMITED with `retryAfter`, counting nothing, where there is no room
   */
  take(kind: QuotaKind, bytes: number): void;
}

/** Each has room of its own: a flood of events keeps no owner from storing. */
export type QuotaKind = 'audit' | 'records';

interface Bucket {
  readonly burstBytes: number;
  readonly bytesPerSecond: number;
}

const KiB = 1_024;
const MiB = 1_024 * KiB;

/**
 * The specification lets an account cause 3,000 requests a minute (`user_aggregate`), whose events take some 32 KiB a second:
 * half of what comes back here. The burst is the log of more than half an hour of that, or 100,000 small records.
 */
const WRITE_QUOTA: Readonly<Record<QuotaKind, Bucket>> = {
  audit: { burstBytes: 64 * MiB, bytesPerSecond: 64 * KiB },
  records: { burstBytes: 64 * MiB, bytesPerSecond: 16 * KiB },
};

/** A row takes so much beside its texts: hash, ids, indexes, its entry in the log. */
export const ROW_OVERHEAD_BYTES = 256;

/** In the process alone: whoever can restart the webhook needs no quota. */
export function createWriteQuota(clock: Pick<Clock, 'monotonic'>): WriteQuota {
  const used = new Map<QuotaKind, { readonly bytes: number; readonly atMs: number }>();
  return {
    take: (kind, bytes) => {
      const { burstBytes, bytesPerSecond } = WRITE_QUOTA[kind];
      const nowMs = clock.monotonic();
      const before = used.get(kind) ?? { bytes: 0, atMs: nowMs };
      const left = Math.max(0, before.bytes - ((nowMs - before.atMs) / 1_000) * bytesPerSecond);
      const after = left + bytes;
      if (after > burstBytes) {
        const retryAfter = Math.max(1, Math.ceil((after - burstBytes) / bytesPerSecond));
        throw refusal('RATE_LIMITED', `too much was written; wait ${retryAfter} seconds`, {
          details: { retryAfter },
          reason: `write_quota_${kind}`,
        });
      }
      used.set(kind, { bytes: after, atMs: nowMs });
    },
  };
}
