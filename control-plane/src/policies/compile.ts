import { LRUCache } from 'lru-cache';
import { compareByCodeUnit } from './code-unit-order.ts';
import { compileGeoRestrict } from './geo-restrict.ts';
import { compileIpAllowlist } from './ip-allowlist.ts';
import { isApproved } from './manual-approval.ts';
import type { RequestFacts } from './request-facts.ts';
import type { MaxUsageSettings, RateLimitSettings, Rule, RuleType, TargetType } from '../core/policy.ts';
import { compileTimeWindow } from './time-window.ts';

/** A rule of a policy as it is attached to one target. */
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

/** The form of `PolicyInput.policies`. */
interface AttachedPolicy {
  readonly target: TargetType;
  readonly id: string;
  readonly name: string;
  readonly rules: readonly Rule[];
}

/** Bounds what compiled policies hold: about 20 bytes for each character of their text. */
const MAX_TEXTS = 5_000;
const MAX_CHARACTERS = 2_000_000;

/**
 * Compiles the policies of a caller and a token, each text once. Nothing is ever stale: the text is read from the database
 * with each request, and a changed policy is another text.
 *
 * @returns rules in the order in which they are asked and named: of the agent's or proxy's policies before the token's,
 *   policies by name, then by id
 */
export function createPolicyCompiler(): (policies: string) => readonly CompiledRule[] {
  const compiled = new LRUCache<string, readonly CompiledRule[]>({
    max: MAX_TEXTS,
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (_rules, text) => text.length,
  });
  return (text) => {
    const known = compiled.get(text);
    if (known !== undefined) return known;
    const attached = JSON.parse(text) as readonly AttachedPolicy[];
    const made = attached.toSorted(inOrder).flatMap(compilePolicy);
    compiled.set(text, made);
    return made;
  };
}

const inOrder = (a: AttachedPolicy, b: AttachedPolicy): number =>
  Number(a.target === 'token') - Number(b.target === 'token') ||
  compareByCodeUnit(a.name, b.name) ||
  compareByCodeUnit(a.id, b.id);

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
      return condition(isApproved);
    case 'max_usage':
      return { ...origin, kind: 'lifetime', settings: rule };
    case 'rate_limit':
      return { ...origin, kind: 'rate', settings: rule };
  }
}
