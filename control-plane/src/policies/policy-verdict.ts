import type { Counter } from '../limits/limiter.ts';
import type { LifetimeUse, PolicyDenial, PolicyInput } from '../core/policy.ts';

/** A `rate_limit` rule that has the last word: the limiter counts it, and only where every other rule allows. */
export interface RateUse {
  readonly counter: Counter;
  /** What is said where it refuses. */
  readonly denial: PolicyDenial;
}

/** All rules of all attached policies must allow; what is counted elsewhere is handed on. */
export type PolicyVerdict =
  | ({ readonly allowed: false } & PolicyDenial)
  | { readonly allowed: true; readonly rates: readonly RateUse[]; readonly uses: readonly LifetimeUse[] };

/** Pure: counts nothing, reads nothing. */
export interface PolicyEvaluator {
  evaluate(question: PolicyInput): PolicyVerdict;
}
