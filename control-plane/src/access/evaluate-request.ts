import { type Id, formatTime } from '@svault/shared';
import type { Counter } from '../limits/limiter.ts';
import type { Limits } from '../limits/limits.ts';
import type { PolicyEvaluator, RateUse } from '../policies/policy-verdict.ts';
import type { AccessRequest } from './access.ts';
import type { AccessSubject, ListedGrant } from './access-store.ts';
import { type Denial, plainDenial } from './denial.ts';
import { NO_COUNTERS, evaluatePolicies } from './evaluate-policies.ts';
import type { LifetimeUse } from '../core/policy.ts';

/** A request that grant and policies allow, and what of it is still to be counted. */
interface EvaluatedAccess {
  readonly serviceName: string;
  readonly grantId: Id<'grt'>;
  readonly rates: readonly RateUse[];
  readonly uses: readonly LifetimeUse[];
}

/** What stands behind the limits; `extraCounters` is what the limiter counts with it. */
export type Evaluation = { readonly extraCounters: readonly Counter[] } & (
  | { readonly kind: 'admitted' | 'grants' }
  | { readonly kind: 'grant'; readonly grant: ListedGrant }
  | { readonly kind: 'denied'; readonly denial: Denial }
  /** No grant, or one that has lapsed. */
  | { readonly kind: 'missing-grant'; readonly serviceName: string }
  | ({ readonly kind: 'access' } & EvaluatedAccess)
);

export type AllowedAccess = Extract<Evaluation, { readonly kind: 'access' }>;

export type EvaluateRequest = (
  subject: AccessSubject,
  request: Pick<AccessRequest, 'question' | 'sourceAddress'>,
  nowMs: number,
) => Evaluation;

const ADMITTED: Evaluation = { kind: 'admitted', extraCounters: NO_COUNTERS };
const GRANTS: Evaluation = { kind: 'grants', extraCounters: NO_COUNTERS };
const deniedEvaluation = (denial: Denial): Evaluation => ({
  kind: 'denied',
  denial,
  extraCounters: NO_COUNTERS,
});
const MALFORMED = deniedEvaluation(plainDenial('INVALID_REQUEST'));

/**
 * What a request comes to once the limits let it through, in the order of contract.md. Pure, and looked at before they are
 * asked, since a miss, a look into the log and a policy's own rate are counted in the same step as the floor; answered only
 * behind them.
 */
export function createEvaluateRequest({
  limits,
  policies,
}: {
  readonly limits: Limits;
  readonly policies: PolicyEvaluator;
}): EvaluateRequest {
  return (subject, { question, sourceAddress }, nowMs) => {
    if (question.kind === 'nothing') return ADMITTED;
    if (question.kind === 'grants') return GRANTS;
    if (question.kind === 'malformed') return MALFORMED;
    const { kind, serviceName } = question;
    if (serviceName === undefined) return deniedEvaluation(plainDenial('INVALID_SERVICE'));
    if (kind === 'history')
      return { kind: 'admitted', extraCounters: [limits.counter('credential_history', subject.agentId)] };
    if (kind === 'credential' && subject.vaultLockedAt !== null)
      return deniedEvaluation(plainDenial('VAULT_LOCKED'));

    const grantId = liveGrant(subject, nowMs);
    if (grantId === undefined)
      return {
        kind: 'missing-grant',
        serviceName,
        extraCounters: [limits.counter('agent_no_grant', subject.agentId)],
      };
    if (kind === 'grant')
      return { kind: 'grant', grant: listed(subject, serviceName), extraCounters: NO_COUNTERS };

    const said = evaluatePolicies(policies, subject, {
      caller: { type: 'agent', id: subject.agentId },
      serviceName,
      sourceAddress,
      nowMs,
    });
    return said.kind === 'denied' ? said : { ...said, kind: 'access', serviceName, grantId };
  };
}

/** The grant that a request rests on; undefined where there is none, or one that has lapsed. */
function liveGrant({ grantId, grantExpiresAt }: AccessSubject, nowMs: number): Id<'grt'> | undefined {
  const lapsed = grantExpiresAt !== null && grantExpiresAt <= formatTime(nowMs);
  return grantId === null || lapsed ? undefined : grantId;
}

/** A subject's grant as the list shows it. */
const listed = (
  { grantExpiresAt, refreshPolicy, sourceGroupId }: AccessSubject,
  serviceName: string,
): ListedGrant => ({ serviceName, grantExpiresAt, refreshPolicy: refreshPolicy ?? 'none', sourceGroupId });
