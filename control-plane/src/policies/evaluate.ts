import { type CompiledRule, createPolicyCompiler } from './compile.ts';
import type { CountryOf } from './geo-database.ts';
import { hasUseLeft } from './max-usage.ts';
import type { PolicyEvaluator, PolicyVerdict, RateUse } from './policy-verdict.ts';
import { rateCounter } from './rate-limit.ts';
import { REASONS } from './reasons.ts';
import { type RequestFacts, requestFacts } from './request-facts.ts';
import type { LifetimeUse, PolicyDenial, PolicyInput, RuleType, TargetType } from '../core/policy.ts';

/** What one rule says to a question. */
export interface RulePart {
  readonly policyId: string;
  /** The policy's name. */
  readonly policy: string;
  readonly targetType: TargetType;
  readonly rule: RuleType;
  readonly allowed: boolean;
  /** Uses of a `max_usage` rule that were counted so far. */
  readonly used: number | undefined;
}

export interface Explanation {
  /** The country that the address was taken for; undefined where it cannot be told. */
  readonly country: string | undefined;
  readonly rules: readonly RulePart[];
}

export interface ExplainingEvaluator extends PolicyEvaluator {
  /**
   * Every rule in the order in which denials are named, those behind a denial too. A `rate_limit` rule allows: how much of
   * it is used is known to the limiter alone, which tells by counting.
   */
  explain(question: PolicyInput): Explanation;
}

const NOTHING_ATTACHED: PolicyVerdict = { allowed: true, rates: [], uses: [] };

/**
 * Joins the rules of all attached policies: all must allow. First those that count nothing, then the lifetime counts as far
 * as they are known; then rates and lifetime uses are handed on to where they are counted, since they count only what
 * every other rule let through (contract.md, "Policies").
 */
export function createPolicyEvaluator(countryOf: CountryOf): ExplainingEvaluator {
  const compile = createPolicyCompiler();

  const rulesOf = ({ policies }: PolicyInput): readonly CompiledRule[] =>
    policies === null ? [] : compile(policies);

  return {
    evaluate: (question) => {
      if (question.policies === null) return NOTHING_ATTACHED;
      const rules = rulesOf(question);
      const facts = requestFacts(question, countryOf);
      const refused =
        rules.find((rule) => rule.kind === 'condition' && !allows(rule, facts)) ??
        rules.find((rule) => rule.kind === 'lifetime' && !allows(rule, facts));
      if (refused !== undefined) return { allowed: false, ...denialOf(refused) };
      return {
        allowed: true,
        rates: rules.flatMap((rule) => rateUse(rule, question)),
        uses: rules.flatMap((rule) => lifetimeUse(rule, question)),
      };
    },
    explain: (question) => {
      const facts = requestFacts(question, countryOf);
      return {
        country: facts.country(),
        rules: rulesOf(question).map((rule) => ({
          policyId: rule.policyId,
          policy: rule.policy,
          targetType: rule.target,
          rule: rule.type,
          allowed: allows(rule, facts),
          used: rule.kind === 'lifetime' ? facts.used(rule.target, rule.ruleId) : undefined,
        })),
      };
    },
  };
}

/** What one rule says, as far as it can be told without counting. */
function allows(rule: CompiledRule, facts: RequestFacts): boolean {
  switch (rule.kind) {
    case 'condition':
      return rule.allows(facts);
    case 'lifetime':
      return hasUseLeft(rule.settings, facts.used(rule.target, rule.ruleId));
    case 'rate':
      return true;
  }
}

function rateUse(rule: CompiledRule, question: PolicyInput): RateUse[] {
  if (rule.kind !== 'rate') return [];
  const counter = rateCounter(rule.settings, rule.ruleId, targetOf(rule, question));
  return [{ counter, denial: denialOf(rule) }];
}

function lifetimeUse(rule: CompiledRule, question: PolicyInput): LifetimeUse[] {
  if (rule.kind !== 'lifetime') return [];
  const { type: targetType, id: targetId } = targetOf(rule, question);
  return [{ ruleId: rule.ruleId, targetType, targetId, limit: rule.settings.limit }];
}

const denialOf = ({ policy, type }: CompiledRule): PolicyDenial => ({
  policy,
  rule: type,
  reason: REASONS[type],
});

const targetOf = (
  { target }: CompiledRule,
  { caller, serviceName }: PolicyInput,
): { readonly type: TargetType; readonly id: string } =>
  target === 'token' ? { type: 'token', id: serviceName } : caller;
