import type { Counter } from '../limits/limiter.ts';

/** The specification's rule types, "ABAC policy". */
export const RULE_TYPES = [
  'time_window',
  'ip_allowlist',
  'geo_restrict',
  'rate_limit',
  'max_usage',
  'manual_approval',
] as const;
export type RuleType = (typeof RULE_TYPES)[number];

/** What a policy may be attached to (specification, "ABAC policy"). */
export const TARGET_TYPES = ['agent', 'proxy', 'token'] as const;
export type TargetType = (typeof TARGET_TYPES)[number];

/** Which rule of which policy refused, and why; the members of the denial's body. */
export interface PolicyDenial {
  /** The policy's name. */
  readonly policy: string;
  readonly rule: RuleType;
  readonly reason: string;
}

/** A `rate_limit` rule that has the last word: the limiter counts it, and only where every other rule allows. */
export interface RateUse {
  readonly counter: Counter;
  /** What is said where it refuses. */
  readonly denial: PolicyDenial;
}

/** One use of a `max_usage` rule, counted in the transaction that writes the access down. */
export interface LifetimeUse {
  readonly ruleId: string;
  readonly targetType: TargetType;
  readonly targetId: string;
  readonly limit: number;
}

/** All rules of all attached policies must allow; what is counted elsewhere is handed on. */
export type PolicyVerdict =
  | ({ readonly allowed: false } & PolicyDenial)
  | { readonly allowed: true; readonly rates: readonly RateUse[]; readonly uses: readonly LifetimeUse[] };

/** What the rules look at. */
export interface PolicyQuestion {
  /**
   * The enabled policies attached to the agent or proxy and to the token, as the store reads them with the subject; null
   * where there are none: `[{"target":"agent","id":"pol_…","name":"…","rules":[…]}]`, with the rules as they are stored.
   * The order does not matter. Compiled once for each text.
   */
  readonly policies: string | null;
  /**
   * How often `max_usage` rules were used at these targets, as the store reads it; null where none was:
   * `{"agent rul_…":3}`. Rules of disabled policies may be among them.
   */
  readonly usage: string | null;
  /** The agent or proxy that asks, and the token that it asks for: what the counts of a rule belong to. */
  readonly caller: { readonly type: 'agent' | 'proxy'; readonly id: string };
  readonly serviceName: string;
  /** The caller's IP address, where it is known. */
  readonly sourceAddress: string | undefined;
  readonly nowMs: number;
}

/** Pure: counts nothing, reads nothing. */
export interface PolicyEvaluator {
  evaluate(question: PolicyQuestion): PolicyVerdict;
}
