import { type Actor, eventBy } from '../core/actor.ts';
import type { NewAuditEvent } from '../core/audit-event.ts';
import type { PolicyTarget } from '../core/policy.ts';
import type { Stores } from '../core/stores.ts';

/** The event of a policy that was attached or detached; it names the target as well as the policy. */
export function attachmentEvent(
  actor: Actor,
  eventType: 'POLICY_ATTACHED' | 'POLICY_DETACHED',
  policyId: string,
  { type, id }: PolicyTarget,
): NewAuditEvent {
  const target = {
    agent: { agentId: id },
    proxy: { proxyId: id },
    token: { serviceName: id },
  }[type] as Pick<NewAuditEvent, 'agentId' | 'proxyId' | 'serviceName'>;
  return eventBy(actor, eventType, { ...target, detail: { policyId, targetType: type } });
}

/** Detaches all policies from a target that is being deleted, and deletes what they counted there. */
export async function detachAll(
  stores: Pick<Stores, 'audit' | 'policies'>,
  actor: Actor,
  target: PolicyTarget,
): Promise<void> {
  for (const policyId of await stores.policies.detachAll(actor.vaultId, target))
    await stores.audit.append(attachmentEvent(actor, 'POLICY_DETACHED', policyId, target));
}
