import { type RequestDenial, ambiguityText } from '@svault/shared/request-rules';
import type { ToldApproval } from '../core/approval.ts';
import type { LifetimeUse } from '../core/policy.ts';
import type { NeededApproval } from '../policies/evaluate.ts';
import type { Approvals } from './approvals.ts';
import type { ApprovalAsked } from './ask-approval.ts';
import type { Denial } from './decision.ts';

/** A message of MCP with two readings, of which a person would see one. */
export interface AmbiguousAsked {
  readonly ambiguity: Exclude<RequestDenial, 'rule'>;
}

/**
 * The use of an approval that an allowed request needs, if it needs one.
 *
 * @param needed undefined where no policy asks for one
 * @param ask what would be approved, looked at where one is needed; undefined for what needs none all the same
 */
export async function approvedUse(
  approvals: Pick<Approvals, 'ofPolicy'>,
  needed: NeededApproval | undefined,
  ask: () => ApprovalAsked | AmbiguousAsked | undefined,
): Promise<
  | { readonly denial?: undefined; readonly uses: readonly LifetimeUse[] }
  | { readonly denial: Extract<Denial, { readonly code: 'POLICY_DENIED' }> }
> {
  const asked = needed && ask();
  if (needed === undefined || asked === undefined) return { uses: [] };
  const denial = { code: 'POLICY_DENIED', ...needed.denial } as const;
  if ('ambiguity' in asked) return { denial: { ...denial, reason: ambiguityText(asked.ambiguity) } };
  const verdict = await approvals.ofPolicy(asked, needed);
  if (verdict.approved) return { uses: [verdict.use] };
  const { open: approval } = verdict;
  return {
    denial: approval === undefined ? { ...denial, reason: TOO_MANY_PENDING } : { ...denial, approval },
  };
}

const TOO_MANY_PENDING =
  'It needs an approval, and too many requests for approval are pending; try again later.';

/** After which an agent that does not wait asks again. */
export const APPROVAL_RETRY_SECONDS = 5;

/** What an agent reads of a use that a person has to decide on. @param approval undefined where too many are open */
export function approvalRequiredText(approval: Omit<ToldApproval, 'id'> | undefined): string {
  if (approval === undefined)
    return 'A person has to approve this use of the credential, and too many requests for approval are pending; try again later.';
  const { status, url, expiresAt } = approval;
  return status === 'denied'
    ? `A person denied this use of the credential: ${url}`
    : `A person has to approve this use of the credential, until ${expiresAt}: ${url} Then ask again.`;
}
