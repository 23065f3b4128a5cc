import { type Actor, eventBy } from '../core/actor.ts';
import type { NewAuditEvent } from '../core/audit-event.ts';
import type { Stores } from '../core/stores.ts';
import type { PolicyTarget } from '../core/policy.ts';

/** The event of an attachment that came or went, found by its target as well as by its policy. */
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

/** Takes all policies off a target that is about to go, and forgets what they counted there. */
export async function detachAll(
  stores: Pick<Stores, 'audit' | 'policies'>,
  actor: Actor,
  target: PolicyTarget,
): Promise<void> {
  for (const policyId of await stores.policies.detachAll(actor.vaultId, target))
    await stores.audit.append(attachmentEvent(actor, 'POLICY_DETACHED', policyId, target));
}
