import { type Denial, plainDenial } from './denial.ts';
import { NO_COUNTERS, type PolicyEvaluation, evaluatePolicies } from './evaluate-policies.ts';
import type { PolicyEvaluator } from '../policies/policy-verdict.ts';
import type { ProxyRequest } from './proxy-access.ts';
import type { ProxySubject } from './proxy-access-store.ts';
import type { SessionIds } from './session-ids.ts';

/** What stands behind the limits; `extraCounters` is what the limiter counts with it. */
export type EvaluateRequest = (
  subject: ProxySubject,
  request: Pick<ProxyRequest, 'fields' | 'sourceAddress'>,
  nowMs: number,
) => PolicyEvaluation;

/**
 * What a request comes to once the limits let it through, in the order of contract.md. Pure, and looked at before they are
 * asked, since a policy's own rate is counted in the same step as the floor; answered only behind them.
 */
export const createEvaluateRequest =
  ({
    policies,
    sessionIds,
  }: {
    readonly policies: PolicyEvaluator;
    readonly sessionIds: SessionIds;
  }): EvaluateRequest =>
  (subject, { fields, sourceAddress }, nowMs) => {
    if (subject.vaultLockedAt !== null) return deniedEvaluation(plainDenial('VAULT_LOCKED'));
    if (sessionIds.open(subject, fields) === undefined)
      return deniedEvaluation(plainDenial('SESSION_NOT_FOUND'));
    return evaluatePolicies(policies, subject, {
      caller: { type: 'proxy', id: subject.proxyId },
      // A proxy that sends sessions uses no token, and no policy of one was read.
      serviceName: subject.serviceName ?? '',
      sourceAddress,
      nowMs,
    });
  };

const deniedEvaluation = (denial: Denial): PolicyEvaluation => ({
  kind: 'denied',
  denial,
  extraCounters: NO_COUNTERS,
});
