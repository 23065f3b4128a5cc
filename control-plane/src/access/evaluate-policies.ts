import type { Counter } from '../limits/limiter.ts';
import type { PolicyEvaluator, PolicyVerdict, RateUse } from '../policies/policy-verdict.ts';
import type { CallerSubject } from './caller-subject.ts';
import type { Denial } from './denial.ts';
import type { LifetimeUse, PolicyQuestion } from '../core/policy.ts';

/** What the policies of a caller and its token say; `extraCounters` is what the limiter counts with the request. */
export type PolicyEvaluation =
  | { readonly kind: 'denied'; readonly denial: Denial; readonly extraCounters: readonly Counter[] }
  | {
      readonly kind: 'allowed';
      readonly rates: readonly RateUse[];
      /** Counted in the transaction that writes the access down. */
      readonly uses: readonly LifetimeUse[];
      readonly extraCounters: readonly Counter[];
    };

export const NO_COUNTERS: readonly Counter[] = [];

/** @param asked who asks for which token, from where, and when */
export function evaluatePolicies(
  policies: PolicyEvaluator,
  subject: Pick<CallerSubject, 'policies' | 'policyUsage'>,
  asked: Pick<PolicyQuestion, 'caller' | 'serviceName' | 'sourceAddress' | 'nowMs'>,
): PolicyEvaluation {
  const verdict: PolicyVerdict = policies.evaluate({
    ...asked,
    policies: subject.policies,
    usage: subject.policyUsage,
  });
  if (!verdict.allowed) {
    const { policy, rule, reason } = verdict;
    const denial: Denial = { code: 'POLICY_DENIED', policy, rule, reason };
    return { kind: 'denied', denial, extraCounters: NO_COUNTERS };
  }
  const { rates, uses } = verdict;
  const extraCounters = rates.length === 0 ? NO_COUNTERS : rates.map(({ counter }) => counter);
  return { kind: 'allowed', rates, uses, extraCounters };
}
