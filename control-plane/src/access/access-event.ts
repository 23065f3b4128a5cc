import { scrub } from '@svault/server-kit/scrub';
import type { Outcome } from '@svault/shared/schemas';
import type { AuditDetail, NewAuditEvent } from '../core/audit-event.ts';
import type { AccessSubject } from './access-store.ts';
import type { Denial } from './denial.ts';

/**
 * The event that tells of a denial.
 *
 * @param serviceName given only where it is a legal one; what an agent took for one and is a key is not written down
 */
export function accessEvent(
  { vaultId, agentId }: Pick<AccessSubject, 'vaultId' | 'agentId'>,
  serviceName: string | undefined,
  denial: Denial,
): NewAuditEvent {
  return {
    vaultId,
    agentId,
    ...(serviceName !== undefined && { serviceName: scrub(serviceName) }),
    eventType: 'AGENT_CREDENTIAL_ACCESS',
    outcome: outcomeOf(denial),
    detail: detailOf(denial),
  };
}

/** What the log says of a denial. */
export const detailOf = (denial: Denial): AuditDetail =>
  denial.code === 'POLICY_DENIED'
    ? { code: denial.code, policy: denial.policy, rule: denial.rule }
    : { code: denial.code };

/** `error` is what neither the agent nor the owner's rules are the cause of. */
export function outcomeOf(denial: Denial): Outcome {
  switch (denial.code) {
    case 'RATE_LIMITED':
      return 'rate_limited';
    case 'POLICY_DENIED':
      return denial.retryAfterSeconds === undefined ? 'denied' : 'rate_limited';
    case 'WEBHOOK_NOT_CONFIGURED':
    case 'WEBHOOK_UNAVAILABLE':
      return 'error';
    default:
      return 'denied';
  }
}
