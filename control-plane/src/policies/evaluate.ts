import { parseAddress } from '@svault/shared/egress';
import { ReadOnce } from '@svault/shared/request-rules';
import type {
  LifetimeUse,
  PolicyDenial,
  PolicyInput,
  Rule,
  RuleSettings,
  RuleType,
  TargetType,
} from '../core/policy.ts';
import type { Counter } from '../limits/limiter.ts';
import { type AttachedPolicy, type CompiledRule, createPolicyCompiler } from './compile.ts';
import type { CountryOf } from './geo-database.ts';
import { type FilteredRequest, type Ruling, filterRequest } from './request-filter.ts';
import { RULES, type RequestFacts } from './rules.ts';

/** All rules of all attached policies must allow. Rates and uses are counted by others, once every other rule has allowed. */
export type PolicyDecision = {
  /** Of the filter that denied, or of the first one that allowed; undefined where none was asked. */
  readonly request?: FilteredRequest | undefined;
} & (
  | ({ readonly allowed: false } & PolicyDenial)
  | {
      readonly allowed: true;
      readonly rates: readonly RateUse[];
      readonly uses: readonly LifetimeUse[];
      /** Undefined where no rule asks for an approval. */
      readonly approval?: NeededApproval | undefined;
    }
);

/** A `rate_limit` rule, which the limiter checks and counts last. */
export interface RateUse {
  readonly counter: Counter;
  /** The denial where the counter is full. */
  readonly denial: PolicyDenial;
}

/** That a request needs an approval, by one rule or several, of which the strictest settings count. */
export interface NeededApproval {
  readonly validSeconds: number;
  readonly uses: number;
  /** The denial of a request that has none. */
  readonly denial: PolicyDenial;
}

/** Pure: counts nothing, reads nothing. */
export interface PolicyEvaluator {
  evaluate(input: PolicyInput): PolicyDecision;
  /** Whether an evaluation of these policies may have to read a request, which takes time. */
  filters(policies: PolicyInput['policies']): boolean;
}

export interface ExplainingEvaluator extends PolicyEvaluator {
  /**
   * Each rule's result in the order of evaluation, including those after a denial: conditions, filters, lifetime uses, rates.
   * A `rate_limit` rule allows: only the limiter knows its count.
   */
  explain(input: PolicyInput): Explanation;
}

export interface Explanation {
  /** The country of the address; undefined where it is not known. */
  readonly country: string | undefined;
  readonly rules: readonly RuleResult[];
}

interface RuleResult {
  readonly policyId: string;
  /** The policy's name. */
  readonly policy: string;
  readonly targetType: TargetType;
  readonly rule: RuleType;
  /** Its place in the policy, from 0. */
  readonly position: number;
  readonly settings: RuleSettings;
  /** Undefined of a `request_filter` where the request is not known. */
  readonly allowed: boolean | undefined;
  /** Uses of a `max_usage` rule so far. */
  readonly used: number | undefined;
}

const DEFAULT_VALID_SECONDS = 3_600;
const NOTHING_ATTACHED: PolicyDecision = { allowed: true, rates: [], uses: [] };

/**
 * Evaluates conditions first, then filters, then lifetime uses by their counts so far. Rates and lifetime uses are handed on,
 * since they count only what all other rules allow; the transaction that records the access decides on a lifetime use.
 */
export function createPolicyEvaluator(countryOf: CountryOf): ExplainingEvaluator {
  const compile = createPolicyCompiler();

  return {
    evaluate: (input) => {
      if (input.policies === null) return NOTHING_ATTACHED;
      const rules = compile(input.policies);
      const facts = factsOf(input, countryOf);
      let request: FilteredRequest | undefined;
      for (const rule of rules) {
        if (rule.kind === 'approval') continue;
        const ruling = rulingOf(rule, facts);
        if (ruling.allowed !== true)
          return { allowed: false, ...denialOf(rule, ruling.reason), request: ruling.request };
        request ??= ruling.request;
      }
      return {
        allowed: true,
        request,
        rates: rules.flatMap((rule) => rateUse(rule, input)),
        uses: rules.flatMap((rule) => lifetimeUse(rule, input)),
        approval: neededApproval(rules),
      };
    },
    filters: (policies) => policies !== null && compile(policies).some(({ kind }) => kind === 'filter'),
    explain: (input) => {
      const facts = factsOf(input, countryOf);
      const rules = input.policies === null ? [] : compile(input.policies);
      const placeOf = placesIn(input.policies);
      return {
        country: facts.country(),
        rules: rules.map((rule) => ({
          policyId: rule.policyId,
          policy: rule.policy,
          targetType: rule.target,
          rule: rule.type,
          ...placeOf(rule),
          allowed: rulingOf(rule, facts).allowed,
          used: rule.kind === 'lifetime' ? facts.used(rule.target, rule.ruleId) : undefined,
        })),
      };
    },
  };
}

/** Where a rule is in the text of its policies, and its settings there. */
function placesIn(
  policies: PolicyInput['policies'],
): (rule: CompiledRule) => Pick<RuleResult, 'position' | 'settings'> {
  const attached = JSON.parse(policies ?? '[]') as readonly AttachedPolicy[];
  return ({ policyId, ruleId }) => {
    const rules = attached.find(({ id }) => id === policyId)?.rules ?? [];
    const position = rules.findIndex(({ id }) => id === ruleId);
    const { id: _id, ...settings } = rules[position] as Rule;
    return { position, settings };
  };
}

function factsOf(
  { nowMs, sourceAddress, usage, caller, upstreamRequest }: PolicyInput,
  countryOf: CountryOf,
): RequestFacts {
  const address = once(() => (sourceAddress === undefined ? undefined : parseAddress(sourceAddress)));
  const country = once(() => {
    const known = address();
    return known === undefined ? undefined : countryOf(known);
  });
  const counts = once(() => countsIn(usage));
  return {
    nowMs,
    address,
    country,
    caller: caller.type,
    request: once(() => upstreamRequest && new ReadOnce(upstreamRequest())),
    used: (target, ruleId) => counts()[countName(target, ruleId)] ?? 0,
  };
}

/** `usage` without the uses that a decision has counted, so that a second look at it does not deny by them. */
export function usageWithout(
  usage: PolicyInput['usage'],
  uses: readonly LifetimeUse[],
): PolicyInput['usage'] {
  if (uses.length === 0) return usage;
  const counts = countsIn(usage);
  for (const { targetType, ruleId } of uses) {
    const name = countName(targetType, ruleId);
    counts[name] = (counts[name] ?? 0) - 1;
  }
  return JSON.stringify(counts);
}

const countsIn = (usage: PolicyInput['usage']) => JSON.parse(usage ?? '{}') as Record<string, number>;

/** The name of a count in `PolicyInput.usage`. */
export const countName = (target: TargetType, ruleId: string) => `${target} ${ruleId}`;

function once<T>(work: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: work() }).value;
}

function rulingOf(rule: CompiledRule, facts: RequestFacts): Ruling {
  switch (rule.kind) {
    case 'condition':
      return { allowed: rule.allows(facts) };
    case 'filter':
      return filterRequest(rule.rules, facts.caller, facts.request());
    case 'lifetime':
      return { allowed: facts.used(rule.target, rule.ruleId) < rule.settings.limit };
    case 'approval':
      return { allowed: false };
    case 'rate':
      return { allowed: true };
  }
}

/** A rule counts separately for each of its targets. */
function rateUse(rule: CompiledRule, input: PolicyInput): RateUse[] {
  if (rule.kind !== 'rate') return [];
  const { limit, windowSeconds } = rule.settings;
  const { type, id } = targetOf(rule, input);
  const key = `${rule.ruleId} ${type} ${id}`;
  const counter: Counter = { scope: 'rate_limit', key, limit, windowMs: windowSeconds * 1_000 };
  return [{ counter, denial: denialOf(rule) }];
}

function neededApproval(rules: readonly CompiledRule[]): NeededApproval | undefined {
  const asking = rules.filter((rule) => rule.kind === 'approval');
  const [first] = asking;
  if (first === undefined) return undefined;
  return {
    validSeconds: Math.min(
      ...asking.map(({ settings }) => settings.expiresInSeconds ?? DEFAULT_VALID_SECONDS),
    ),
    uses: Math.min(...asking.map(({ settings }) => settings.uses ?? 1)),
    denial: denialOf(first),
  };
}

/** What is decided where nobody approves: of simulations, previews and lists of who can reach what. */
export const unapproved = (decision: PolicyDecision): PolicyDecision =>
  decision.allowed && decision.approval !== undefined
    ? { allowed: false, ...decision.approval.denial, request: decision.request }
    : decision;

function lifetimeUse(rule: CompiledRule, input: PolicyInput): LifetimeUse[] {
  if (rule.kind !== 'lifetime') return [];
  const { type: targetType, id: targetId } = targetOf(rule, input);
  return [{ ruleId: rule.ruleId, targetType, targetId, limit: rule.settings.limit }];
}

const denialOf = ({ policy, type }: CompiledRule, reason: string = RULES[type].reason): PolicyDenial => ({
  policy,
  rule: type,
  reason,
});

const targetOf = (
  { target }: CompiledRule,
  { caller, serviceName }: PolicyInput,
): { readonly type: TargetType; readonly id: string } =>
  target === 'token' ? { type: 'token', id: serviceName } : caller;
