import { detailOf, outcomeOf } from './access-event.ts';
import type { Denial } from './denial.ts';
import type { NewAuditEvent } from '../core/audit-event.ts';
import type { ProxySubject } from './proxy-access-store.ts';

/** The event that tells of a use, or of why there was none. */
export const proxyEvent = (
  { vaultId, proxyId, serviceName }: ProxySubject,
  denial?: Denial,
): NewAuditEvent => ({
  vaultId,
  proxyId,
  ...(serviceName !== null && { serviceName }),
  eventType: 'PROXY_CREDENTIAL_USE',
  ...(denial === undefined
    ? { outcome: 'success' }
    : { outcome: outcomeOf(denial), detail: detailOf(denial) }),
});
