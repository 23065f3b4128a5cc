import { auditUnavailable } from '../audit/audit-writer.ts';
import type { NewAuditEvent } from '../core/audit-event.ts';
import type { UnitOfWork } from '../core/stores.ts';
import { type Denied, denied, plainDenial } from './decision.ts';
import type { DenialRecorder } from './record-denial.ts';
import type { AgentSubject } from './subject.ts';

/**
 * Denies a request without a live grant. The first request after a grant's expiry deletes it and is denied with
 * GRANT_EXPIRED, later ones with NO_GRANT. A locked vault keeps an expired grant and denies with GRANT_EXPIRED.
 */
export async function denyMissingGrant(
  expiredGrants: ExpiredGrants,
  { deny, eventOf }: DenialRecorder<AgentSubject>,
  subject: AgentSubject,
  serviceName: string,
): Promise<Denied> {
  if (subject.grantId === null) return deny(subject, serviceName, plainDenial('NO_GRANT'));
  const expired = plainDenial('GRANT_EXPIRED');
  if (subject.vaultLockedAt !== null) return deny(subject, serviceName, expired);
  const denial = eventOf(subject, serviceName, expired);
  const expiry: NewAuditEvent = { ...denial, eventType: 'GRANT_EXPIRED', outcome: 'success' };
  const wasFirst = await expiredGrants.remove(subject, { expiry, denial });
  return wasFirst ? denied(expired) : deny(subject, serviceName, plainDenial('NO_GRANT'));
}

/** The one change that a credential request makes: expired → deleted (specification, "States and transitions"). */
export interface ExpiredGrants {
  /**
   * Deletes the subject's grant and writes both events in one transaction. Where the vault was locked meanwhile, it deletes
   * nothing and writes the denial alone.
   *
   * @returns false, with nothing written, where another request was first
   * @throws ApiError AUDIT_UNAVAILABLE when it cannot be written
   */
  remove(
    subject: AgentSubject,
    events: { readonly expiry: NewAuditEvent; readonly denial: NewAuditEvent },
  ): Promise<boolean>;
}

export function createExpiredGrants(unitOfWork: UnitOfWork): ExpiredGrants {
  return {
    remove: ({ vaultId, grantId }, { expiry, denial }) =>
      unitOfWork
        .run(vaultId, async ({ grants, vaults, audit }) => {
          const vault = await vaults.get(vaultId);
          if (vault?.lockedAt === undefined) {
            // By its id: a grant for the same service that was made meanwhile stays.
            if (grantId === null || !(await grants.remove(vaultId, grantId))) return false;
            await audit.append(expiry);
          }
          await audit.append(denial);
          return true;
        })
        .catch((cause: unknown) => {
          throw auditUnavailable(cause);
        }),
  };
}
