import { type Clock, formatTime, newId } from '@svault/shared';
import { type Actor, eventBy } from '../core/actor.ts';
import { notFound, refusal } from '../core/errors.ts';
import type { Stores } from '../core/stores.ts';
import { attachmentEvent } from './detach-all.ts';
import {
  MAX_POLICIES_OF_TARGET,
  type Policy,
  type PolicyTarget,
  type RuleSettings,
  withRuleIds,
} from '../core/policy.ts';
import { type TargetStores, requireTarget } from './policy-targets.ts';

type PolicyStores = Pick<Stores, 'audit' | 'policies'>;

/** What an owner sets; undefined members of a change stay as they are. */
export interface PolicyChanges {
  readonly name?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly rules?: readonly RuleSettings[] | undefined;
}

export interface NewPolicy extends PolicyChanges {
  readonly name: string;
  readonly rules: readonly RuleSettings[];
}

const newRuleId = () => newId('rul');

/** A policy that is attached to nothing yet. */
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

/** The n-th rule of a type keeps what it has counted; counts of rules that go are forgotten. */
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

/** With its attachments and all that it counted. */
export async function deletePolicy(stores: PolicyStores, actor: Actor, id: string): Promise<void> {
  const policy = await policyOf(stores, actor, id);
  const attachments = await stores.policies.remove(policy);
  await stores.audit.append(
    eventBy(actor, 'POLICY_DELETED', { detail: { policyId: policy.id, name: policy.name, attachments } }),
  );
}

/**
 * In force from the target's next request on. Attaching what is attached changes nothing and writes no event.
 *
 * @throws AppError NOT_FOUND for an unknown policy or target; CONFLICT where the target has the most it may have
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
    throw refusal(
      'CONFLICT',
      `At most ${MAX_POLICIES_OF_TARGET} policies can be attached to one target. Detach one first.`,
    );
  await stores.audit.append(attachmentEvent(actor, 'POLICY_ATTACHED', policy.id, target));
}

/** What its rules counted at the target is forgotten. @throws AppError NOT_FOUND also where it is not attached there */
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

/** @throws AppError NOT_FOUND */
export async function policyOf(stores: Pick<Stores, 'policies'>, actor: Actor, id: string): Promise<Policy> {
  const policy = await stores.policies.get(actor.vaultId, id);
  if (policy === undefined) throw notFound();
  return policy;
}
