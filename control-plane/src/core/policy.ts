import type { Id } from '@svault/shared';
import type { Rule, RuleType } from './rule.ts';

/** Specification, "ABAC policy". */
export interface Policy {
  readonly id: Id<'pol'>;
  readonly vaultId: Id<'vlt'>;
  readonly name: string;
  readonly enabled: boolean;
  readonly rules: readonly Rule[];
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** What a policy is attached to; the id of a token is its service name. */
export interface PolicyTarget {
  readonly type: TargetType;
  readonly id: string;
}

/** So that what is read and evaluated with each request stays small. */
export const MAX_POLICIES_OF_TARGET = 10;
export const MAX_RULES_TEXT = 16_384;

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

/** One use of a `max_usage` rule, counted in the transaction that writes the access down. */
export interface LifetimeUse {
  readonly ruleId: string;
  readonly targetType: TargetType;
  readonly targetId: string;
  readonly limit: number;
}

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
