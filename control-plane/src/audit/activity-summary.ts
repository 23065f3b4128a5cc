import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Id } from '@svault/shared';
import type { ActivityCounts, AuditStore } from '../core/audit-store.ts';

export interface Activity extends ActivityCounts {
  /** From when on was counted: as asked for, or later where the log is too long to be looked through that far. */
  readonly since: string;
}

/** Rows per look, a millisecond or two, and looks: of a longer log the newest part is counted. */
const ROWS_PER_LOOK = 2_000;
const MAX_LOOKS = 10;

/** Counts the newest part of a vault's log. @param since in the written form */
export async function readActivity(
  log: Pick<AuditStore, 'tally'>,
  vaultId: Id<'vlt'>,
  since: string,
): Promise<Activity> {
  let sum: ActivityCounts = { accesses: 0, denied: 0, rateLimited: 0, errors: 0 };
  let before: number | undefined;
  for (let looks = 0; looks < MAX_LOOKS; looks++) {
    if (looks > 0) await nextTurn();
    const { tally, rows } = await log.tally(vaultId, { since, before, rows: ROWS_PER_LOOK });
    sum = {
      accesses: sum.accesses + tally.accesses,
      denied: sum.denied + tally.denied,
      rateLimited: sum.rateLimited + tally.rateLimited,
      errors: sum.errors + tally.errors,
    };
    // One event of a clock that was wrong must not pass for the end of the time that is asked for.
    if (rows === undefined || rows.newestAt < since) return { ...sum, since };
    if (looks === MAX_LOOKS - 1) return { ...sum, since: rows.oldestAt > since ? rows.oldestAt : since };
    before = rows.firstSeq;
  }
  return { ...sum, since };
}
