import type { NewAuditEvent } from '../core/audit-event.ts';
import { recordChange } from '../core/change.ts';
import type { PolicyTarget } from '../core/policy.ts';
import type { Change } from '../core/stores.ts';

/** Writes the event of a policy that was attached or detached; it names the target as well as the policy. */
export function recordAttachment(
  change: Change,
  eventType: 'POLICY_ATTACHED' | 'POLICY_DETACHED',
  policy: { readonly id: string; readonly name?: string },
  { type, id }: PolicyTarget,
): Promise<void> {
  const target = {
    agent: { agentId: id },
    proxy: { proxyId: id },
    token: { serviceName: id },
  }[type] as Pick<NewAuditEvent, 'agentId' | 'proxyId' | 'serviceName'>;
  const detail = {
    policyId: policy.id,
    targetType: type,
    ...(policy.name !== undefined && { name: policy.name }),
  };
  return recordChange(change, eventType, { ...target, detail });
}

/** Detaches all policies from a target that is being deleted, and deletes what they counted there. */
export async function detachAll(change: Change, target: PolicyTarget): Promise<void> {
  for (const id of await change.policies.detachAll(change.actor.vaultId, target))
    await recordAttachment(change, 'POLICY_DETACHED', { id }, target);
}
