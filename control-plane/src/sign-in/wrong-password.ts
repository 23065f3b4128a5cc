import type { Id } from '@svault/shared';
import type { NewAuditEvent } from '../core/audit-event.ts';

/**
 * The event of a guess that was wrong, whether somebody wanted in or, already in, another password. Counted, and written
 * later, so that an address which somebody has takes no longer than one which nobody has.
 */
export const wrongPassword = ({
  userId,
  vaultId,
}: {
  readonly userId: Id<'usr'>;
  readonly vaultId: Id<'vlt'>;
}): NewAuditEvent => ({
  vaultId,
  userId,
  eventType: 'LOGIN',
  outcome: 'denied',
  detail: { method: 'password', code: 'UNAUTHENTICATED' },
});
