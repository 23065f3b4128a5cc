import { type Id, formatTime } from '@svault/shared';
import type { AuditStore } from '../core/audit-store.ts';

/** How far the webhook's copy of an account's log reaches. */
export interface LogCopy {
  /** Number of the newest event. */
  readonly newest: number;
  /** Number of the newest event that the webhook has acknowledged; 0 where none was. */
  readonly acknowledged: number;
  /** The time of the oldest event that waits unusually long for its acknowledgement; undefined where none does. */
  readonly behindSince: string | undefined;
}

/** An event waits less than this in normal operation. */
const USUAL_WAIT_MS = 60_000;

/** Compares the account's log with what the webhook has acknowledged of it. */
export async function readLogCopy(
  log: Pick<AuditStore, 'after' | 'chainOf'>,
  vaultId: Id<'vlt'>,
  nowMs: number,
): Promise<LogCopy> {
  const { head, shippedSeq } = await log.chainOf(vaultId);
  const [waiting] = await log.after(vaultId, shippedSeq, 1);
  const isLate = waiting !== undefined && waiting.timestamp < formatTime(nowMs - USUAL_WAIT_MS);
  return {
    newest: head.seq,
    acknowledged: shippedSeq,
    behindSince: isLate ? waiting.timestamp : undefined,
  };
}
