import { type Clock, formatTime, newId } from '@svault/shared';
import { type Actor, eventBy } from '../core/actor.ts';
import { notFound, orNotFound, ApiError } from '../core/errors.ts';
import {
  MAX_POLICIES_OF_TARGET,
  type Policy,
  type PolicyInput,
  type PolicyTarget,
  type RuleSettings,
  withRuleIds,
} from '../core/policy.ts';
import type { Stores } from '../core/stores.ts';
import type { ExplainingEvaluator, Explanation, PolicyDecision } from '../policies/evaluate.ts';
import { existingAgentOf } from './agents.ts';
import { attachmentEvent } from './policy-attachments.ts';
import { activeProxyOf } from './proxies.ts';
import { tokenOf } from './tokens.ts';

type PolicyStores = Pick<Stores, 'audit' | 'policies'>;

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
  stores: PolicyStores,
  actor: Actor,
  { name, enabled = true, rules }: NewPolicy,
  clock: Clock,
): Promise<Policy> {
  const now = formatTime(clock.now());
  const policy: Policy = {
    id: newId('pol'),
    vaultId: actor.vaultId,
    name,
    enabled,
    rules: withRuleIds(rules, [], newRuleId),
    createdAt: now,
    updatedAt: now,
  };
  await stores.policies.add(policy);
  await stores.audit.append(eventBy(actor, 'POLICY_CREATED', { detail: { policyId: policy.id, name } }));
  return policy;
}

/** Changes a policy. The n-th rule of a type keeps its counts; counts of removed rules are deleted. */
export async function updatePolicy(
  stores: PolicyStores,
  actor: Actor,
  id: string,
  changes: PolicyChanges,
  clock: Clock,
): Promise<Policy> {
  const before = await policyOf(stores, actor, id);
  const members = Object.keys(changes);
  if (members.length === 0) return before;
  const after: Policy = {
    ...before,
    name: changes.name ?? before.name,
    enabled: changes.enabled ?? before.enabled,
    rules: changes.rules === undefined ? before.rules : withRuleIds(changes.rules, before.rules, newRuleId),
    updatedAt: formatTime(clock.now()),
  };
  await stores.policies.update(before, after);
  await stores.audit.append(
    eventBy(actor, 'POLICY_UPDATED', { detail: { policyId: before.id, name: after.name, members } }),
  );
  return after;
}

/** Deletes a policy, its attachments and its counts. */
export async function deletePolicy(stores: PolicyStores, actor: Actor, id: string): Promise<void> {
  const policy = await policyOf(stores, actor, id);
  const attachments = await stores.policies.remove(policy);
  await stores.audit.append(
    eventBy(actor, 'POLICY_DELETED', { detail: { policyId: policy.id, name: policy.name, attachments } }),
  );
}

/**
 * Attaches a policy, from the target's next request on. Attaching it again changes nothing and writes no event.
 *
 * @throws ApiError NOT_FOUND for an unknown policy or target; CONFLICT where the target has as many as it may
 */
export async function attachPolicy(
  stores: PolicyStores & TargetStores,
  actor: Actor,
  id: string,
  target: PolicyTarget,
): Promise<void> {
  const policy = await policyOf(stores, actor, id);
  await requireTarget(stores, actor, target);
  const others = await stores.policies.countOf(actor.vaultId, target);
  if (!(await stores.policies.attach(policy, target))) return;
  if (others >= MAX_POLICIES_OF_TARGET)
    throw new ApiError(
      'CONFLICT',
      `At most ${MAX_POLICIES_OF_TARGET} policies can be attached to one target. Detach one first.`,
    );
  await stores.audit.append(attachmentEvent(actor, 'POLICY_ATTACHED', policy.id, target));
}

/** Detaches a policy and deletes its counts at the target. @throws ApiError NOT_FOUND, also where it is not attached there */
export async function detachPolicy(
  stores: PolicyStores,
  actor: Actor,
  id: string,
  target: PolicyTarget,
): Promise<void> {
  const policy = await policyOf(stores, actor, id);
  if (!(await stores.policies.detach(policy, target))) throw notFound();
  await stores.audit.append(attachmentEvent(actor, 'POLICY_DETACHED', policy.id, target));
}

/** @throws ApiError NOT_FOUND */
export const policyOf = async (stores: Pick<Stores, 'policies'>, actor: Actor, id: string): Promise<Policy> =>
  orNotFound(await stores.policies.get(actor.vaultId, id));

type TargetStores = Pick<Stores, 'agents' | 'proxies' | 'tokens'>;

/** @throws ApiError NOT_FOUND for an unknown target; CONFLICT for a deleted agent or a revoked proxy */
async function requireTarget(stores: TargetStores, actor: Actor, { type, id }: PolicyTarget): Promise<void> {
  if (type === 'agent') await existingAgentOf(stores, actor, id);
  else if (type === 'token') await tokenOf(stores, actor, id);
  else await activeProxyOf(stores, actor, id);
}

/** A hypothetical request. */
export interface SimulatedRequest {
  readonly caller: PolicyInput['caller'];
  readonly serviceName: string;
  readonly atMs: number;
  readonly ip: string | undefined;
}

/** What the policies decide about a hypothetical request. */
export interface Simulation extends Explanation {
  readonly verdict: PolicyDecision;
}

/**
 * Evaluates the policies alone, without grants, vault lock and limits, and counts nothing.
 *
 * @throws ApiError NOT_FOUND for an unknown agent or proxy; CONFLICT for a deleted agent or a revoked proxy
 */
export async function simulate(
  stores: Pick<Stores, 'policies'> & TargetStores,
  evaluator: ExplainingEvaluator,
  actor: Actor,
  { caller, serviceName, atMs, ip }: SimulatedRequest,
): Promise<Simulation> {
  await requireTarget(stores, actor, caller);
  const attached = await stores.policies.inputOf(actor.vaultId, caller, serviceName);
  const input = { ...attached, caller, serviceName, sourceAddress: ip, nowMs: atMs };
  return { verdict: evaluator.evaluate(input), ...evaluator.explain(input) };
}
