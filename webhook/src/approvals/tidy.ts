import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { ApprovalStore } from './approval-store.ts';

/** Afterwards the page says that there is no such request, and it counts no more. */
const KEPT_MS = 24 * 3_600_000;

/** Erases the bodies and the words of requests that have expired, and the rest of them a day later. */
export async function tidyApprovals(deps: {
  readonly approvals: Pick<ApprovalStore, 'tidy'>;
  readonly commit: GroupCommit;
  /** The later of wall clock and time floor, milliseconds since 1970. */
  readonly latestMs: () => number;
}): Promise<void> {
  const nowMs = deps.latestMs();
  await deps.commit.run(() => deps.approvals.tidy(nowMs, nowMs - KEPT_MS));
}
