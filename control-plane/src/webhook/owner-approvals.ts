import { APPROVAL_LIMITS } from '@svault/shared/schemas';
import { APPROVAL_RETRY_SECONDS, approvalRequiredText } from '../access/approved-use.ts';
import type { Actor } from '../core/actor.ts';
import type { ToldApproval } from '../core/approval.ts';
import { ApiError } from '../core/errors.ts';
import type { NameStore } from '../core/name.ts';
import type { WebhookLink } from '../core/webhook-link.ts';
import type { WebhookApprovals } from './approvals.ts';
import { WebhookCallFailed, asRefusal } from './call-failed.ts';
import { REFUSALS } from './sealed-approvals.ts';

/**
 * Puts an owner's own use of a credential before its approvers. Nothing is kept of it here, and nobody is notified: whoever
 * asks reads the link, and asks again.
 */
export const createOwnerApprovals = ({
  webhook,
  names,
}: {
  readonly webhook: Pick<WebhookApprovals, 'ask'>;
  readonly names: NameStore;
}) => ({
  /** @throws ApiError APPROVAL_REQUIRED with `approval` unless too many are open; WEBHOOK_REFUSED, WEBHOOK_UNAVAILABLE */
  mustBeApproved: async (
    link: WebhookLink,
    { vaultId, userId }: Actor,
    serviceName: string,
    reason: string | undefined,
  ): Promise<void> => {
    if (!link.capabilities.includes('approvals')) return;
    const name = (await names.of(vaultId, [userId])).get(userId);
    const answer = await webhook
      .ask(link, {
        ...{ serviceName, sub: userId, operation: { type: 'credential' } },
        ...(name !== undefined && { name: name.slice(0, APPROVAL_LIMITS.nameCharacters).toWellFormed() }),
        ...(reason !== undefined && { reason }),
      })
      .catch(unlessRefused);
    // What the webhook refuses to put before a person it says of the ticket, too.
    if (answer === 'refused' || answer.status === 'not_required' || answer.status === 'approved') return;
    const { id, url, expiresAt } = answer;
    throw approvalRequired({ id, url, expiresAt, status: answer.status === 'denied' ? 'denied' : 'pending' });
  },
});

/** @throws ApiError */
function unlessRefused(error: unknown): 'refused' {
  const code = error instanceof WebhookCallFailed && error.failure === 'refused' ? error.code : undefined;
  if (REFUSALS.has(code)) return 'refused';
  throw code === 'RATE_LIMITED' ? approvalRequired(undefined) : asRefusal(error);
}

const approvalRequired = (
  approval: (Omit<ToldApproval, 'id'> & { readonly id: string }) | undefined,
): ApiError =>
  new ApiError('APPROVAL_REQUIRED', approvalRequiredText(approval), {
    details: { approval, retryAfter: APPROVAL_RETRY_SECONDS },
  });
