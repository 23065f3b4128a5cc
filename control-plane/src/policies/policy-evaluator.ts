import type { Id } from '@svault/shared';

/** The specification's rule types, "ABAC policy". */
export type RuleType =
  'time_window' | 'ip_allowlist' | 'geo_restrict' | 'rate_limit' | 'max_usage' | 'manual_approval';

export type PolicyVerdict =
  | { readonly allowed: true }
  | {
      readonly allowed: false;
      /** The policy's name. */
      readonly policy: string;
      readonly rule: RuleType;
      readonly reason: string;
      /** Whole seconds; only, and always, where `rule` is `rate_limit`. */
      readonly retryAfterSeconds?: number;
    };

/** What the policies of an agent and of a token look at. */
export interface PolicyQuestion {
  readonly vaultId: Id<'vlt'>;
  readonly agentId: Id<'agt'>;
  readonly serviceName: string;
  /** The caller's IP address, where it is known. */
  readonly sourceAddress: string | undefined;
}

/** All rules of all policies attached to the agent and to the token must allow. */
export interface PolicyEvaluator {
  evaluate(question: PolicyQuestion): PolicyVerdict | Promise<PolicyVerdict>;
}
