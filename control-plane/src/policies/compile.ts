import type { Address } from '@svault/shared/egress';
import { LRUCache } from 'lru-cache';
import type { MaxUsageSettings, RateLimitSettings, Rule, RuleType, TargetType } from '../core/policy.ts';
import { compileGeoRestrict } from './geo-restrict.ts';
import { compileIpAllowlist } from './ip-allowlist.ts';
import { compileTimeWindow } from './time-window.ts';

/** What the rules look at. Each fact is computed when a rule first needs it. */
export interface RequestFacts {
  readonly nowMs: number;
  /** IPv4-mapped addresses as IPv4; undefined where it is not known. */
  address(): Address | undefined;
  country(): string | undefined;
  /** Uses of a `max_usage` rule at a target so far. */
  used(target: TargetType, ruleId: string): number;
}

/** A rule of a policy that is attached to one target. */
export type CompiledRule = RuleOrigin &
  (
    | { readonly kind: 'condition'; readonly allows: (facts: RequestFacts) => boolean }
    | { readonly kind: 'lifetime'; readonly settings: MaxUsageSettings }
    | { readonly kind: 'rate'; readonly settings: RateLimitSettings }
  );

interface RuleOrigin {
  readonly ruleId: string;
  readonly type: RuleType;
  readonly policyId: string;
  /** The policy's name. */
  readonly policy: string;
  readonly target: TargetType;
}

/** An element of `PolicyInput.policies`. */
interface AttachedPolicy {
  readonly target: TargetType;
  readonly id: string;
  readonly name: string;
  readonly rules: readonly Rule[];
}

/** A compiled policy takes about 20 bytes for each character of its text. */
const MAX_TEXTS = 5_000;
const MAX_CHARACTERS = 2_000_000;

/**
 * Compiles the policies of a caller and a token, each text once. The cache is never stale: each request reads the text from
 * the database, and a changed policy is another text.
 *
 * @returns rules in the order in which they are evaluated and named: those of the agent or proxy before the token's, policies
 *   by name, then by id
 */
export function createPolicyCompiler(): (policies: string) => readonly CompiledRule[] {
  const cache = new LRUCache<string, readonly CompiledRule[]>({
    max: MAX_TEXTS,
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (_rules, text) => text.length,
  });
  return (text) => {
    const cached = cache.get(text);
    if (cached !== undefined) return cached;
    const attached = JSON.parse(text) as readonly AttachedPolicy[];
    const compiled = attached.toSorted(inOrder).flatMap(compilePolicy);
    cache.set(text, compiled);
    return compiled;
  };
}

const inOrder = (a: AttachedPolicy, b: AttachedPolicy): number =>
  Number(a.target === 'token') - Number(b.target === 'token') ||
  byCodeUnit(a.name, b.name) ||
  byCodeUnit(a.id, b.id);

/** The same order in each locale. */
const byCodeUnit = (a: string, b: string): number => Number(a > b) - Number(a < b);

const compilePolicy = ({ id, name, target, rules }: AttachedPolicy): CompiledRule[] =>
  rules.map((rule) =>
    compileRule(rule, { ruleId: rule.id, type: rule.type, policyId: id, policy: name, target }),
  );

function compileRule(rule: Rule, origin: RuleOrigin): CompiledRule {
  const condition = (allows: (facts: RequestFacts) => boolean): CompiledRule => ({
    ...origin,
    kind: 'condition',
    allows,
  });
  switch (rule.type) {
    case 'time_window': {
      const isOpen = compileTimeWindow(rule);
      return condition(({ nowMs }) => isOpen(nowMs));
    }
    case 'ip_allowlist': {
      const isListed = compileIpAllowlist(rule);
      return condition((facts) => isListed(facts.address()));
    }
    case 'geo_restrict': {
      const isAllowed = compileGeoRestrict(rule);
      return condition((facts) => isAllowed(facts.country()));
    }
    case 'manual_approval':
      // Specification, "ABAC policy": approval is not available, and denies each request.
      return condition(() => false);
    case 'max_usage':
      return { ...origin, kind: 'lifetime', settings: rule };
    case 'rate_limit':
      return { ...origin, kind: 'rate', settings: rule };
  }
}
