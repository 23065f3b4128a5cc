import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Id } from '@svault/shared';
import type { ActivityCounts, AuditStore } from '../core/audit-store.ts';

export interface Activity extends ActivityCounts {
  /** The time from which events were counted: the requested one, or a later one where the log is too long. */
  readonly since: string;
}

/** Rows per scan, a millisecond or two, and scans: of a longer log the newest part is counted. */
const ROWS_PER_SCAN = 2_000;
const MAX_SCANS = 10;

/** Counts the newest part of a vault's log. @param since `YYYY-MM-DDTHH:MM:SS.sssZ` */
export async function readActivity(
  log: Pick<AuditStore, 'countActivity'>,
  vaultId: Id<'vlt'>,
  since: string,
): Promise<Activity> {
  let sum: ActivityCounts = { accesses: 0, denied: 0, rateLimited: 0, errors: 0 };
  let before: number | undefined;
  for (let scans = 1; ; scans++) {
    const { counts, rows } = await log.countActivity(vaultId, { since, before, rows: ROWS_PER_SCAN });
    sum = {
      accesses: sum.accesses + counts.accesses,
      denied: sum.denied + counts.denied,
      rateLimited: sum.rateLimited + counts.rateLimited,
      errors: sum.errors + counts.errors,
    };
    // By the newest of the rows: one event whose clock was behind does not end the count.
    if (rows === undefined || rows.newestAt < since) return { ...sum, since };
    if (scans === MAX_SCANS) return { ...sum, since: rows.oldestAt > since ? rows.oldestAt : since };
    before = rows.firstSeq;
    await nextTurn();
  }
}
