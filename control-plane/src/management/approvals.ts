import { type Clock, formatTime } from '@svault/shared';
import { type Approval, type CountedApproval, eventSubjectOf, statusOf } from '../core/approval.ts';
import { ownOf, recordChange } from '../core/change.ts';
import { ApiError, invalidArgument } from '../core/errors.ts';
import type { Change } from '../core/stores.ts';
import { type GrantTerms, createGrant } from './grants.ts';

/**
 * pending → approved. One for a grant becomes it, in the same transaction.
 *
 * @param terms of a grant
 * @throws ApiError as `decideApproval` and `createGrant`; INVALID_ARGUMENT for terms of what is no request for a grant
 */
export async function approveRequest(
  change: Change,
  id: string,
  terms: GrantTerms,
  clock: Clock,
): Promise<CountedApproval> {
  const { kind, callerId, serviceName, decision } = await ownOf(change.approvals, change.actor, id);
  const [given] = Object.keys(terms);
  if (kind !== 'access' && given !== undefined)
    throw invalidArgument([{ path: given, message: 'is for requests for a grant' }]);
  const approved = await decideApproval(change, id, 'approved', clock);
  if (kind === 'access' && decision === undefined)
    await createGrant(change, callerId, { ...terms, serviceName }, clock);
  return approved;
}

/**
 * pending → approved or denied, and approved → denied, which takes back what is left of it.
 *
 * @throws ApiError NOT_FOUND; CONFLICT for one that has ended, or is decided at the webhook
 */
export async function decideApproval(
  change: Change,
  id: string,
  decision: NonNullable<Approval['decision']>,
  clock: Clock,
): Promise<CountedApproval> {
  const { actor } = change;
  const before = await ownOf(change.approvals, actor, id);
  const nowMs = clock.now();
  const now = formatTime(nowMs);
  const status = statusOf(before, now);
  if (before.kind === 'passkey')
    throw new ApiError('CONFLICT', `This one is decided with a passkey at the webhook: ${before.url}`);
  if (status === decision) return before;
  if (status === 'approved' && before.kind === 'access')
    throw new ApiError(
      'CONFLICT',
      'It became a grant, which is revoked as every other one: svault grants rm AGENT SERVICE.',
    );
  if (status !== 'pending' && !(status === 'approved' && decision === 'denied'))
    throw new ApiError('CONFLICT', `This approval is ${status} already. A new request asks for another.`);
  const after: CountedApproval = {
    ...before,
    decision,
    decidedAt: now,
    decidedBy: actor.userId,
    expiresAt: decision === 'approved' ? formatTime(nowMs + before.validSeconds * 1_000) : before.expiresAt,
  };
  await change.approvals.decide(after);
  await recordChange(change, decision === 'approved' ? 'APPROVAL_APPROVED' : 'APPROVAL_DENIED', {
    ...eventSubjectOf(before),
    detail: { approvalId: before.id, kind: before.kind },
  });
  return after;
}
