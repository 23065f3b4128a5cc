import { LRUCache } from 'lru-cache';
import type { Rule, RuleType, TargetType } from '../core/policy.ts';
import { type CompiledSettings, compileSettings } from './rules.ts';

/** A rule of a policy that is attached to one target. */
export type CompiledRule = RuleOrigin & CompiledSettings;

interface RuleOrigin {
  readonly ruleId: string;
  readonly type: RuleType;
  readonly policyId: string;
  /** The policy's name. */
  readonly policy: string;
  readonly target: TargetType;
}

/** An element of `PolicyInput.policies`. */
export interface AttachedPolicy {
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
 * @returns rules in the order in which they are evaluated and named: by their kind, those of the agent or proxy before the
 *   token's, policies by name, then by id
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
    const compiled = attached.toSorted(inOrder).flatMap(compilePolicy).toSorted(byKind);
    cache.set(text, compiled);
    return compiled;
  };
}

/** A filter may have to read a body, and what counts counts only what all others allow. */
const KINDS: readonly CompiledRule['kind'][] = ['condition', 'filter', 'lifetime', 'approval', 'rate'];
const byKind = (a: CompiledRule, b: CompiledRule): number => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind);

/** The order in which attached policies are evaluated and named. */
export const inOrder = (a: Omit<AttachedPolicy, 'rules'>, b: Omit<AttachedPolicy, 'rules'>): number =>
  Number(a.target === 'token') - Number(b.target === 'token') ||
  byCodeUnit(a.name, b.name) ||
  byCodeUnit(a.id, b.id);

/** The same order in each locale. */
const byCodeUnit = (a: string, b: string): number => Number(a > b) - Number(a < b);

const compilePolicy = ({ id, name, target, rules }: AttachedPolicy): CompiledRule[] =>
  rules.map((rule) => {
    const origin = { ruleId: rule.id, type: rule.type, policyId: id, policy: name, target };
    return { ...origin, ...compileSettings(rule) };
  });
