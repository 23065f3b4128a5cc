import type { ApprovalOperation } from '@svault/shared';
import { ApiError } from '../errors.ts';
import type { OpenRecord } from '../vault/vault.ts';
import type { ApprovalStore, StoredApproval } from './approval-store.ts';
import { type Approvable, matchOf } from './match.ts';

/** What a use was approved by; undefined where the record asks for none. */
export type Approval = StoredApproval | undefined;

/** Whether a person must decide on the uses of a record that are of this type. */
export const needsApproval = (
  { settings }: Pick<OpenRecord, 'settings'>,
  type: ApprovalOperation['type'],
): boolean => settings.approval?.for.includes(type) === true;

/**
 * Finds the approval of a use, and uses it up, both in the open transaction that claims the ticket or nonce.
 *
 * @param deps.latestMs the later of wall clock and time floor, milliseconds since 1970
 */
export function createApprovedUses(deps: {
  readonly approvals: Pick<ApprovalStore, 'approvedFor' | 'useUp'>;
  readonly latestMs: () => number;
}) {
  const { approvals, latestMs } = deps;
  return {
    /**
     * @param sub of the ticket
     * @throws ApiError APPROVAL_REQUIRED if nobody has approved this use
     */
    mustBeApprovedNow: (
      { serviceName }: Pick<OpenRecord, 'serviceName'>,
      sub: string,
      use: Approvable,
    ): StoredApproval => {
      const approval = approvals.approvedFor(matchOf({ serviceName, sub }, use), latestMs());
      if (approval === undefined) throw approvalRequired();
      return approval;
    },
    /**
     * Whether what an approval was used up for is still what is about to be done, where it may have changed meanwhile.
     *
     * @throws ApiError APPROVAL_REQUIRED if not
     */
    mustBeOf: (
      approval: Approval,
      { serviceName }: Pick<OpenRecord, 'serviceName'>,
      sub: string,
      use: Approvable | undefined,
    ): void => {
      if (use === undefined) return;
      const { once, standing } = matchOf({ serviceName, sub }, use);
      const isSame =
        approval?.standingSeconds === null
          ? approval.match.once === once
          : approval !== undefined && standing !== undefined && approval.match.standing === standing;
      if (!isSame) throw approvalRequired();
    },
    /** After everything that could still refuse the use without a call. An allowance stays. */
    useUpNow: (approval: Approval): void => {
      if (approval?.standingSeconds === null) approvals.useUp(approval.id);
    },
  };
}

export type ApprovedUses = ReturnType<typeof createApprovedUses>;

const approvalRequired = (): Error =>
  new ApiError('APPROVAL_REQUIRED', 'a person has to approve this use of the credential first');
