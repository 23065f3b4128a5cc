import { setImmediate as nextTurn } from 'node:timers/promises';
import { newId, parseTime } from '@svault/shared';
import { readRecentRequests } from '../audit/recent-requests.ts';
import type { Actor } from '../core/actor.ts';
import type { AuditEvent } from '../core/audit-event.ts';
import { ownOf } from '../core/change.ts';
import {
  type AttachedTarget,
  type Policy,
  type PolicyDenial,
  type PolicyTarget,
  type RuleSettings,
  type RuleType,
  withRuleIds,
} from '../core/policy.ts';
import type { Stores } from '../core/stores.ts';
import type { AttachedPolicy } from '../policies/compile.ts';
import type { PolicyEvaluator } from '../policies/evaluate.ts';
import {
  type PastRequest,
  type ReplayedDecision,
  createPolicyReplay,
  needsUnknown,
  targetIdIn,
  useName,
} from '../policies/replay.ts';
import { RULES } from '../policies/rules.ts';
import { type TargetStores, requireTarget } from './policies.ts';

/** A policy that is not saved. With `policyId` it replaces that one, whose members stay where they are undefined here. */
export interface PolicyDraft {
  readonly policyId?: string | undefined;
  readonly name?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly rules?: readonly RuleSettings[] | undefined;
  readonly targets?: readonly PolicyTarget[] | undefined;
}

/** What a draft would have changed. Numbers are of requests: an event may stand for several. */
export interface PolicyPreview {
  readonly looked: number;
  /** The time of the oldest event that was read; undefined for an empty log. */
  readonly since: string | undefined;
  /** Whether the log holds no older request. */
  readonly isComplete: boolean;
  readonly denied: number;
  readonly allowed: number;
  readonly unknown: number;
  /** Newest first. */
  readonly examples: readonly PreviewExample[];
}

interface PreviewExample {
  readonly event: AuditEvent;
  /** With the draft; the request was decided the other way. */
  readonly decision: 'allowed' | 'denied';
  /** By the draft, or the one of then. */
  readonly denial: PolicyDenial;
}

type PreviewStores = TargetStores & Pick<Stores, 'audit' | 'policies'>;

const MAX_EXAMPLES = 50;
/** Pairs of caller and token whose other policies are read. */
const MAX_PAIRS = 100;
const REQUESTS_PER_TURN = 100;

/**
 * Replays the newest requests of the log with a draft that had been saved before the first of them. Changes and counts nothing.
 *
 * @throws ApiError NOT_FOUND for an unknown policy or target; CONFLICT for a deleted agent or a revoked proxy
 */
export async function previewPolicy(
  stores: PreviewStores,
  evaluator: PolicyEvaluator,
  actor: Actor,
  draft: PolicyDraft,
): Promise<PolicyPreview> {
  const { vaultId } = actor;
  const { policyId } = draft;
  const before = policyId === undefined ? undefined : await ownOf(stores.policies, actor, policyId);
  for (const target of draft.targets ?? []) await requireTarget(stores, actor, target);
  const { events, ...covered } = await readRecentRequests(stores.audit, vaultId);
  const requests = events.flatMap(toRequest).reverse();

  const attached = await attachedNow(stores, before, requests);
  const wanted = new Set((draft.targets ?? [...attached.values()]).map(targetName));
  const { enabled = before?.enabled ?? true } = draft;
  const policy = draftedPolicy(draft, before);
  const replay = createPolicyReplay(
    evaluator,
    { ...policy, vaultId },
    usesBefore(requests, attached, policy),
  );
  const others = otherPolicies(stores, evaluator, { actor, policyId });

  const examples: PreviewExample[] = [];
  let unknown = 0;
  for (const [index, request] of requests.entries()) {
    if (index % REQUESTS_PER_TURN === 0) await nextTurn();
    const { event, past, targets } = request;
    const deniedBefore = before === undefined ? undefined : denialBy(before, event);
    const wasDenied =
      deniedBefore !== undefined && targets.some((target) => attached.has(targetName(target)));
    if (!wasDenied && !passedPolicies(event)) continue;
    const isRecorded = wasDenied || event.outcome === 'success';
    const byOthers = wasDenied ? await others(past) : ALLOWED;
    const types = targets.filter((target) => wanted.has(targetName(target))).map(({ type }) => type);
    const decided =
      byOthers.decision === 'allowed' && enabled ? replay.decide(past, types, isRecorded) : byOthers;
    if (!isRecorded) continue;
    if (decided.decision === 'unknown') unknown += 1;
    else if (decided.decision === 'denied' && !wasDenied)
      examples.push({ event, decision: 'denied', denial: decided.denial });
    else if (decided.decision === 'allowed' && wasDenied)
      examples.push({ event, decision: 'allowed', denial: deniedBefore });
  }

  return {
    ...covered,
    looked: events.reduce((sum, { count = 1 }) => sum + count, 0),
    denied: examples.filter(({ decision }) => decision === 'denied').length,
    allowed: examples.filter(({ decision }) => decision === 'allowed').length,
    unknown,
    examples: examples.reverse().slice(0, MAX_EXAMPLES),
  };
}

const ALLOWED = { decision: 'allowed' } as const;
const UNKNOWN = { decision: 'unknown' } as const;

interface LoggedRequest {
  readonly event: AuditEvent;
  readonly past: PastRequest;
  /** What a policy of it may be attached to. */
  readonly targets: readonly PolicyTarget[];
}

function toRequest(event: AuditEvent): LoggedRequest[] {
  const { agentId, proxyId, serviceName = '', origin, timestamp } = event;
  const id = proxyId ?? agentId;
  const nowMs = parseTime(timestamp);
  if (id === undefined || nowMs === undefined) return [];
  const caller = { type: proxyId === undefined ? 'agent' : 'proxy', id } as const;
  // The log does not say what was asked of an upstream.
  const past = { caller, serviceName, sourceAddress: origin?.address, nowMs, upstreamRequest: undefined };
  const token: readonly PolicyTarget[] = serviceName === '' ? [] : [{ type: 'token', id: serviceName }];
  return [{ event, past, targets: [caller, ...token] }];
}

const targetName = ({ type, id }: PolicyTarget): string => `${type} ${id}`;

/** Whether the policies let a request through: what finds no webhook then still counts for rates. */
const passedPolicies = ({ outcome, detail }: AuditEvent): boolean =>
  outcome === 'success' ||
  detail?.['code'] === 'WEBHOOK_UNAVAILABLE' ||
  detail?.['code'] === 'WEBHOOK_NOT_CONFIGURED';

/** The denial of an event that names this policy. */
function denialBy({ name }: Policy, { detail }: AuditEvent): PolicyDenial | undefined {
  if (detail?.['code'] !== 'POLICY_DENIED' || detail['policy'] !== name) return undefined;
  const rule = String(detail['rule']);
  return isRuleType(rule) ? { policy: name, rule, reason: RULES[rule].reason } : undefined;
}

const isRuleType = (text: string): text is RuleType => Object.hasOwn(RULES, text);

async function attachedNow(
  { policies }: Pick<Stores, 'policies'>,
  policy: Policy | undefined,
  requests: readonly LoggedRequest[],
): Promise<ReadonlyMap<string, AttachedTarget>> {
  if (policy === undefined) return new Map();
  const targets = new Map(requests.flatMap((each) => each.targets).map((each) => [targetName(each), each]));
  const attached = await policies.attachedAmong(policy, [...targets.values()]);
  return new Map(attached.map((target) => [targetName(target), target]));
}

/** Rules keep their ids, and the counts with them, as when the draft is saved. */
const draftedPolicy = (
  { name, rules }: PolicyDraft,
  before: Policy | undefined,
): Pick<Policy, 'id' | 'name' | 'rules'> => ({
  id: before?.id ?? newId('pol'),
  name: name ?? before?.name ?? '',
  rules:
    rules === undefined ? (before?.rules ?? []) : withRuleIds(rules, before?.rules ?? [], () => newId('rul')),
});

/** Uses before the first request: those of now without the ones that the requests are. */
function usesBefore(
  requests: readonly LoggedRequest[],
  attached: ReadonlyMap<string, AttachedTarget>,
  { rules }: Pick<Policy, 'rules'>,
): ReadonlyMap<string, number> {
  const recorded = new Map<string, number>();
  for (const { event, targets } of requests)
    if (event.outcome === 'success')
      for (const name of targets.map(targetName)) recorded.set(name, (recorded.get(name) ?? 0) + 1);
  return new Map(
    [...attached.values()].flatMap((target) =>
      rules.map(({ id }): [string, number] => [
        useName(id, target.type, target.id),
        Math.max(0, (target.used.get(id) ?? 0) - (recorded.get(targetName(target)) ?? 0)),
      ]),
    ),
  );
}

/** What the other policies of a denied request decide, as they are now. As in a simulation, their rates have room. */
function otherPolicies(
  { policies }: Pick<Stores, 'policies'>,
  evaluator: PolicyEvaluator,
  { actor, policyId }: { readonly actor: Actor; readonly policyId: string | undefined },
): (past: PastRequest) => Promise<ReplayedDecision> {
  const inputs = new Map<string, Awaited<ReturnType<Stores['policies']['inputOf']>>>();
  return async (past) => {
    const pair = JSON.stringify([targetIdIn(past, past.caller.type), past.serviceName]);
    let input = inputs.get(pair);
    if (input === undefined) {
      if (inputs.size === MAX_PAIRS) return UNKNOWN;
      const { policies: all, usage } = await policies.inputOf(actor.vaultId, past.caller, past.serviceName);
      const others = (JSON.parse(all ?? '[]') as AttachedPolicy[]).filter(({ id }) => id !== policyId);
      input = { policies: JSON.stringify(others), usage };
      inputs.set(pair, input);
    }
    const verdict = evaluator.evaluate({ ...past, ...input });
    // Whether it was approved is not known.
    if (verdict.allowed) return verdict.approval === undefined ? ALLOWED : UNKNOWN;
    // Its uses of now may be later ones.
    if (verdict.rule === 'max_usage' || needsUnknown(past, verdict.rule)) return UNKNOWN;
    return { decision: 'denied', denial: verdict };
  };
}
