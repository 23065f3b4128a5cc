import type { NewAuditEvent } from '../core/audit-event.ts';
import { accessEvent } from './access-event.ts';
import type { AccessSubject } from './access-store.ts';
import { type Denied, denied, plainDenial } from './denial.ts';
import type { ExpiredGrants } from './expired-grants.ts';
import type { Refusals } from './refusals.ts';

/**
 * No grant, or one that has lapsed: that one is deleted now, and answered as lapsed by the request that does it. A locked
 * vault keeps it, and answers the same.
 */
export type DenyMissingGrant = (subject: AccessSubject, serviceName: string) => Promise<Denied>;

export function createDenyMissingGrant(
  { expiredGrants }: { readonly expiredGrants: ExpiredGrants },
  { refuse }: Refusals<AccessSubject>,
): DenyMissingGrant {
  return async (subject, serviceName) => {
    if (subject.grantId === null) return refuse(subject, serviceName, plainDenial('NO_GRANT'));
    const lapsed = plainDenial('GRANT_EXPIRED');
    if (subject.vaultLockedAt !== null) return refuse(subject, serviceName, lapsed);
    const denial = accessEvent(subject, serviceName, lapsed);
    const expiry: NewAuditEvent = { ...denial, eventType: 'GRANT_EXPIRED', outcome: 'success' };
    const wasFirst = await expiredGrants.remove(subject, { expiry, denial });
    return wasFirst ? denied(lapsed) : refuse(subject, serviceName, plainDenial('NO_GRANT'));
  };
}
