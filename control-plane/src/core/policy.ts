import type { Id } from '@svault/shared';
import type { TargetType } from '../policies/policy-verdict.ts';
import type { Rule } from './rule.ts';

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
