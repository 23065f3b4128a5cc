import { formatTime } from '@svault/shared';
import type { LifetimeUse, PolicyInput } from '../core/policy.ts';
import type { Counter } from '../limits/limiter.ts';
import type { Limits } from '../limits/limits.ts';
import type { NeededApproval, PolicyEvaluator, RateUse } from '../policies/evaluate.ts';
import type { FilteredRequest } from '../policies/request-filter.ts';
import {
  type AccessRequest,
  type Decision,
  type Denial,
  type PlainDenialCode,
  type ProxyRequest,
  plainDenial,
} from './decision.ts';
import type { SessionIds } from './session-ids.ts';
import type { AgentSubject, CallerSubject, ListedGrant, ProxySubject } from './subject.ts';
import { upstreamRequest } from './upstream-request.ts';

// An evaluation is pure and precedes the limiter, since a missing grant, a read of the log and a policy's own rate are
// counted in the same step as the floor. Its result is answered only after the limiter has let the request through. Where
// policies filter requests the limiter is asked before as well, since an evaluation then reads the body.

export type Evaluation<Result> = {
  /** Counted by the limiter together with the floor. */
  readonly extraCounters: readonly Counter[];
  /** The rates of policies, whose counters are among them. */
  readonly rates: readonly RateUse[];
} & ({ readonly denial: Denial } | { readonly denial?: undefined; readonly result: Result });

export type AgentResult =
  | { readonly kind: 'answer'; readonly answer: Decision }
  /** No grant, or an expired one. */
  | { readonly kind: 'missing-grant'; readonly serviceName: string }
  | { readonly kind: 'access-request'; readonly serviceName: string }
  | ({ readonly kind: 'access' } & AllowedAccess);

/** A request that grant and policies allow. */
export interface AllowedAccess {
  readonly serviceName: string;
  /** Counted in the transaction that records the access. */
  readonly uses: readonly LifetimeUse[];
  /** Undefined where no policy asks for one. */
  readonly approval: NeededApproval | undefined;
}

/** A proxied request that policies allow. */
export interface AllowedUse extends Pick<AllowedAccess, 'uses' | 'approval'> {
  /** For the log; undefined where no policy filters requests. */
  readonly request: FilteredRequest | undefined;
}

/** The denials of an agent's request after the limits, in the order of the specification's pipeline. */
export function evaluateAgentRequest(
  { limits, policies }: { readonly limits: Limits; readonly policies: PolicyEvaluator },
  subject: AgentSubject,
  { operation, origin }: Pick<AccessRequest, 'operation' | 'origin'>,
  nowMs: number,
): Evaluation<AgentResult> {
  const { vaultId, agentId, grants = [] } = subject;
  const caller = { vaultId, agentId, accessRequests: subject.accessRequests === 1 };
  if (operation.kind === 'admission') return answer({ outcome: 'admitted', caller });
  if (operation.kind === 'grants') return answer({ outcome: 'grants', caller, grants });
  if (operation.kind === 'malformed')
    return { ...UNCOUNTED, denial: { code: 'INVALID_REQUEST', message: operation.message } };
  const { kind, serviceName } = operation;
  if (serviceName === undefined) return denial('INVALID_SERVICE');
  if (kind === 'history')
    return answer({ outcome: 'admitted', caller }, [limits.counter('credential_history', agentId)]);
  if (kind === 'access_request' && !caller.accessRequests)
    return { ...UNCOUNTED, denial: { code: 'FORBIDDEN', message: NO_ACCESS_REQUESTS } };
  if ((kind === 'credential' || kind === 'access_request') && subject.vaultLockedAt !== null)
    return denial('VAULT_LOCKED');

  if (!hasLiveGrant(subject, nowMs)) {
    const missing = kind === 'access_request' ? 'access-request' : 'missing-grant';
    return counted([limits.counter('agent_no_grant', agentId)], { kind: missing, serviceName });
  }
  if (kind === 'access_request') return answer({ outcome: 'access_requested', caller, approval: undefined });
  if (kind === 'grant') return answer({ outcome: 'grant', caller, grant: toListed(subject, serviceName) });

  const evaluation = evaluatePolicies(policies, subject, {
    caller: { type: 'agent', id: agentId },
    serviceName,
    sourceAddress: origin.address,
    nowMs,
    upstreamRequest: undefined,
  });
  if (evaluation.denial !== undefined) return evaluation;
  const { uses, approval } = evaluation.result;
  return { ...evaluation, result: { kind: 'access', serviceName, uses, approval } };
}

/** The denials of a proxy's request after the limits, in the order of the specification's pipeline. */
export function evaluateProxyRequest(
  { policies, sessionIds }: { readonly policies: PolicyEvaluator; readonly sessionIds: SessionIds },
  subject: ProxySubject,
  { method, target, fields, body, origin }: Omit<ProxyRequest, 'keyHash' | 'kind' | 'traffic'>,
  nowMs: number,
): Evaluation<AllowedUse> {
  if (subject.vaultLockedAt !== null) return denial('VAULT_LOCKED');
  const opened = subject.kind === 'mcp' ? sessionIds.open(subject, fields) : fields;
  if (opened === undefined) return denial('SESSION_NOT_FOUND');
  return evaluatePolicies(policies, subject, {
    caller: { type: 'proxy', id: subject.proxyId },
    // A proxy that sends sessions uses no token, so no policy of a token was read.
    serviceName: subject.serviceName ?? '',
    sourceAddress: origin.address,
    nowMs,
    upstreamRequest: () => upstreamRequest(subject, { method, target, fields: opened, body }),
  });
}

function evaluatePolicies(
  policies: PolicyEvaluator,
  subject: Pick<CallerSubject, 'policies' | 'policyUsage'>,
  asked: Omit<PolicyInput, 'policies' | 'usage'>,
): Evaluation<AllowedUse> {
  const { policies: attached, policyUsage: usage } = subject;
  const verdict = policies.evaluate({ ...asked, policies: attached, usage });
  const { request } = verdict;
  if (!verdict.allowed) {
    const { policy, rule, reason } = verdict;
    return { ...UNCOUNTED, denial: { code: 'POLICY_DENIED', policy, rule, reason, request } };
  }
  const { rates, uses, approval } = verdict;
  return { result: { uses, request, approval }, extraCounters: rates.map(({ counter }) => counter), rates };
}

const NO_ACCESS_REQUESTS =
  'Agents of this account cannot ask for grants. Its owner lets them with svault vault edit --access-requests.';

const UNCOUNTED = { extraCounters: [], rates: [] } as const;

const denial = (code: PlainDenialCode): Evaluation<never> => ({ ...UNCOUNTED, denial: plainDenial(code) });

const counted = (extraCounters: readonly Counter[], result: AgentResult): Evaluation<AgentResult> => ({
  extraCounters,
  rates: [],
  result,
});

const answer = (decision: Decision, extraCounters: readonly Counter[] = []): Evaluation<AgentResult> =>
  counted(extraCounters, { kind: 'answer', answer: decision });

export const hasLiveGrant = (
  { grantId, grantExpiresAt }: Pick<AgentSubject, 'grantId' | 'grantExpiresAt'>,
  nowMs: number,
): boolean => grantId !== null && (grantExpiresAt === null || grantExpiresAt > formatTime(nowMs));

const toListed = (
  { grantExpiresAt, refreshPolicy, sourceGroupId }: AgentSubject,
  serviceName: string,
): ListedGrant => ({ serviceName, grantExpiresAt, refreshPolicy: refreshPolicy ?? 'none', sourceGroupId });
