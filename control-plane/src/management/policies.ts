import { type Clock, formatTime, newId } from '@svault/shared';
import type { Actor } from '../core/actor.ts';
import { ownOf, recordChange } from '../core/change.ts';
import { ApiError, notFound } from '../core/errors.ts';
import {
  MAX_POLICIES_OF_TARGET,
  type Policy,
  type PolicyInput,
  type PolicyTarget,
  type RuleSettings,
  withRuleIds,
} from '../core/policy.ts';
import type { Change, Stores } from '../core/stores.ts';
import type { AttachedPolicy } from '../policies/compile.ts';
import {
  type ExplainingEvaluator,
  type Explanation,
  type PolicyDecision,
  unapproved,
} from '../policies/evaluate.ts';
import { existingAgentOf } from './agents.ts';
import { recordAttachment } from './policy-attachments.ts';
import { activeProxyOf } from './proxies.ts';
import { type SimulatedCall, simulatedRequest } from './simulated-call.ts';

/** Undefined members of a change stay as they are. */
interface PolicyChanges {
  readonly name?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly rules?: readonly RuleSettings[] | undefined;
}

interface NewPolicy extends PolicyChanges {
  readonly name: string;
  readonly rules: readonly RuleSettings[];
}

const newRuleId = () => newId('rul');

/** Creates a policy without attachments. */
export async function createPolicy(
  change: Change,
  { name, enabled = true, rules }: NewPolicy,
  clock: Clock,
): Promise<Policy> {
  const now = formatTime(clock.now());
  const policy: Policy = {
    id: newId('pol'),
    vaultId: change.actor.vaultId,
    name,
    enabled,
    rules: withRuleIds(rules, [], newRuleId),
    createdAt: now,
    updatedAt: now,
  };
  await change.policies.add(policy);
  await recordChange(change, 'POLICY_CREATED', { detail: { policyId: policy.id, name } });
  return policy;
}

/** Changes a policy. The n-th rule of a type keeps its counts; counts of removed rules are deleted. */
export async function updatePolicy(
  change: Change,
  id: string,
  changes: PolicyChanges,
  clock: Clock,
): Promise<Policy> {
  const before = await ownOf(change.policies, change.actor, id);
  const members = Object.keys(changes);
  if (members.length === 0) return before;
  const { name = before.name, enabled = before.enabled } = changes;
  const rules =
    changes.rules === undefined ? before.rules : withRuleIds(changes.rules, before.rules, newRuleId);
  const after: Policy = { ...before, name, enabled, rules, updatedAt: formatTime(clock.now()) };
  await change.policies.update(before, after);
  await recordChange(change, 'POLICY_UPDATED', { detail: { policyId: before.id, name, members } });
  return after;
}

/** Deletes a policy, its attachments and its counts. */
export async function deletePolicy(change: Change, id: string): Promise<void> {
  const policy = await ownOf(change.policies, change.actor, id);
  const attachments = await change.policies.remove(policy);
  const { id: policyId, name } = policy;
  await recordChange(change, 'POLICY_DELETED', { detail: { policyId, name, attachments } });
}

/**
 * Attaches a policy, from the target's next request on. Attaching it again changes nothing and writes no event.
 *
 * @throws ApiError NOT_FOUND for an unknown policy or target; CONFLICT where the target has as many as it may
 */
export async function attachPolicy(change: Change, id: string, target: PolicyTarget): Promise<void> {
  const policy = await ownOf(change.policies, change.actor, id);
  await requireTarget(change, change.actor, target);
  const others = await change.policies.countOf(policy.vaultId, target);
  if (!(await change.policies.attach(policy, target))) return;
  if (others >= MAX_POLICIES_OF_TARGET)
    throw new ApiError(
      'CONFLICT',
      `At most ${MAX_POLICIES_OF_TARGET} policies can be attached to one target. Detach one first.`,
    );
  await recordAttachment(change, 'POLICY_ATTACHED', policy, target);
}

/** Detaches a policy and deletes its counts at the target. @throws ApiError NOT_FOUND, also where it is not attached there */
export async function detachPolicy(change: Change, id: string, target: PolicyTarget): Promise<void> {
  const policy = await ownOf(change.policies, change.actor, id);
  if (!(await change.policies.detach(policy, target))) throw notFound();
  await recordAttachment(change, 'POLICY_DETACHED', policy, target);
}

export type TargetStores = Pick<Stores, 'agents' | 'proxies' | 'tokens'>;

/** @throws ApiError NOT_FOUND for an unknown target; CONFLICT for a deleted agent or a revoked proxy */
export async function requireTarget(
  stores: TargetStores,
  actor: Actor,
  { type, id }: PolicyTarget,
): Promise<void> {
  if (type === 'agent') await existingAgentOf(stores, actor, id);
  else if (type === 'token') await ownOf(stores.tokens, actor, id);
  else await activeProxyOf(stores, actor, id);
}

/** A hypothetical request. */
export interface SimulatedRequest {
  readonly caller: PolicyInput['caller'];
  readonly serviceName: string;
  readonly atMs: number;
  readonly ip: string | undefined;
  /** Of a proxy; undefined: filters of requests cannot tell. */
  readonly call: SimulatedCall | undefined;
}

/** What the policies decide about a hypothetical request; of one that is not known what all but its filters decide. */
export interface Simulation extends Explanation {
  readonly verdict: PolicyDecision;
}

/**
 * Evaluates the policies alone, without grants, vault lock and limits, and counts nothing.
 *
 * @throws ApiError NOT_FOUND for an unknown agent or proxy; CONFLICT for a deleted agent or a revoked proxy
 */
export async function simulate(
  stores: TargetStores & Pick<Stores, 'policies'>,
  evaluator: ExplainingEvaluator,
  actor: Actor,
  { caller, serviceName, atMs, ip, call }: SimulatedRequest,
): Promise<Simulation> {
  await requireTarget(stores, actor, caller);
  const request =
    call === undefined ? undefined : simulatedRequest(await activeProxyOf(stores, actor, caller.id), call);
  const attached = await stores.policies.inputOf(actor.vaultId, caller, serviceName);
  const input: PolicyInput = {
    ...attached,
    ...{ caller, serviceName, sourceAddress: ip, nowMs: atMs },
    upstreamRequest: request && (() => request),
  };
  const explanation = evaluator.explain(input);
  const isKnown = explanation.rules.every(({ allowed }) => allowed !== undefined);
  const policies = isKnown ? input.policies : withoutFilters(input.policies);
  return { verdict: unapproved(evaluator.evaluate({ ...input, policies })), ...explanation };
}

function withoutFilters(policies: PolicyInput['policies']): PolicyInput['policies'] {
  const attached = JSON.parse(policies ?? '[]') as AttachedPolicy[];
  return JSON.stringify(
    attached.map((policy) => ({
      ...policy,
      rules: policy.rules.filter(({ type }) => type !== 'request_filter'),
    })),
  );
}
