import type { PolicyEvaluator, PolicyVerdict } from './policy-evaluator.ts';

const ALLOWED: PolicyVerdict = { allowed: true };

/** Knows no policy and allows everything: what runs until policies can be made. */
export const withoutPolicies: PolicyEvaluator = { evaluate: () => ALLOWED };
