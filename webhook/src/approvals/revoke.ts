import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { AuditLog } from '../audit/audit-log.ts';
import type { ApprovalStore } from './approval-store.ts';

/**
 * Ends an approval or a request that waits, or all of them, on the webhook's machine: no passkey is asked. What is under way
 * in a running serve is decided by the one that commits first.
 *
 * @returns how many
 */
export function revokeApprovals(
  deps: {
    readonly approvals: Pick<ApprovalStore, 'end'>;
    readonly audit: Pick<AuditLog, 'appendNow'>;
    readonly commit: GroupCommit;
  },
  id: string | undefined,
): Promise<number> {
  const { approvals, audit, commit } = deps;
  return commit.run(() => {
    const ended = approvals.end(id === undefined ? {} : { id });
    for (const approval of ended)
      audit.appendNow({
        eventType: 'APPROVAL_REVOKED',
        outcome: 'success',
        detail: { approval, by: 'command' },
      });
    return ended.length;
  });
}
