import { createCounterStore } from '../limits/counter-store.ts';
import { decideAll, ownedBy } from '../limits/kernel.ts';
import type { Policy, PolicyDenial, PolicyInput, RuleType, TargetType } from '../core/policy.ts';
import type { AttachedPolicy } from './compile.ts';
import { type PolicyEvaluator, countName, unapproved } from './evaluate.ts';

/** A request of the past. */
export type PastRequest = Omit<PolicyInput, 'policies' | 'usage'>;

export type ReplayedDecision =
  | { readonly decision: 'allowed' | 'unknown' }
  | { readonly decision: 'denied'; readonly denial: PolicyDenial };

/** Decides past requests by one policy. */
export interface PolicyReplay {
  /**
   * Requests have to come in the order of their events.
   *
   * @param types which of the caller and the token the policy is attached to
   * @param isRecorded whether an access is recorded where it is allowed, and counts for `max_usage`
   * @returns `unknown` where the address, or what was asked of an upstream, would decide and is not known
   */
  decide(request: PastRequest, types: readonly TargetType[], isRecorded: boolean): ReplayedDecision;
}

const ALLOWED = { decision: 'allowed' } as const;
const UNKNOWN = { decision: 'unknown' } as const;

const BY_ADDRESS: ReadonlySet<RuleType> = new Set<RuleType>(['ip_allowlist', 'geo_restrict']);

/** Whether a rule decides by something of a request that is not known: its address, or what a proxy would have sent. */
export const needsUnknown = (
  { sourceAddress, caller, upstreamRequest }: PastRequest,
  rule: RuleType,
): boolean =>
  (sourceAddress === undefined && BY_ADDRESS.has(rule)) ||
  (rule === 'request_filter' && caller.type === 'proxy' && upstreamRequest === undefined);

/** The id of a target that a request has. */
export const targetIdIn = ({ caller, serviceName }: PastRequest, type: TargetType): string =>
  type === 'token' ? serviceName : caller.id;

/** Names the count of a rule at a target. */
export const useName = (ruleId: string, type: TargetType, targetId: string): string =>
  `${ruleId} ${type} ${targetId}`;

/**
 * Replays requests by the evaluator and the limiter that decide requests, on counters of its own. Its rates begin with the
 * first request.
 *
 * @param used uses of `max_usage` rules before the first request, by {@link useName}
 */
export function createPolicyReplay(
  evaluator: PolicyEvaluator,
  { vaultId, id, name, rules }: Pick<Policy, 'vaultId' | 'id' | 'name' | 'rules'>,
  used: ReadonlyMap<string, number>,
): PolicyReplay {
  const uses = new Map(used);
  const windows = createCounterStore();

  const lifetimes = rules.filter(({ type }) => type === 'max_usage');

  // A text that is the same string each time is hashed once by the evaluator's cache.
  const texts = new Map<string, string>();
  const textAt = (types: readonly TargetType[], known: Policy['rules']): string => {
    const key = `${types.join()} ${known.map(({ id: ruleId }) => ruleId).join()}`;
    const made = texts.get(key);
    if (made !== undefined) return made;
    const text = JSON.stringify(types.map((target): AttachedPolicy => ({ target, id, name, rules: known })));
    texts.set(key, text);
    return text;
  };
  const usageAt = (request: PastRequest, types: readonly TargetType[]): string => {
    const usedAt = (ruleId: string, type: TargetType): number =>
      uses.get(useName(ruleId, type, targetIdIn(request, type))) ?? 0;
    const counts = types.flatMap((type) =>
      lifetimes.map((rule) => [countName(type, rule.id), usedAt(rule.id, type)] as const),
    );
    return JSON.stringify(Object.fromEntries(counts));
  };

  return {
    decide: (request, types, isRecorded) => {
      if (types.length === 0) return ALLOWED;
      const known = rules.filter(({ type }) => !needsUnknown(request, type));
      const input = { ...request, policies: textAt(types, known), usage: usageAt(request, types) };
      const verdict = unapproved(evaluator.evaluate(input));
      if (!verdict.allowed) return denied(verdict);
      if (known.length < rules.length) return UNKNOWN;
      const counters = verdict.rates.map(({ counter }) => ownedBy(vaultId, counter));
      const counted = decideAll(counters, windows, request.nowMs);
      const full = counted.allowed
        ? undefined
        : verdict.rates.find(({ counter }) => counter.key === counted.key);
      if (full !== undefined) return denied(full.denial);
      for (const { ruleId, targetType, targetId } of isRecorded ? verdict.uses : []) {
        const use = useName(ruleId, targetType, targetId);
        uses.set(use, (uses.get(use) ?? 0) + 1);
      }
      return ALLOWED;
    },
  };
}

const denied = ({ policy, rule, reason }: PolicyDenial): ReplayedDecision => ({
  decision: 'denied',
  denial: { policy, rule, reason },
});
