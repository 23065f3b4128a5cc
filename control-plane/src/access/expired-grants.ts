import type { NewAuditEvent } from '../core/audit-event.ts';
import { refusal } from '../core/errors.ts';
import type { UnitOfWork } from '../core/stores.ts';
import type { AccessSubject } from './access-store.ts';

/** The one change that a credential request makes: expired → deleted (specification, "States and transitions"). */
export interface ExpiredGrants {
  /**
   * Deletes the subject's grant and writes both events in the same transaction. Where the vault was locked meanwhile, it
   * deletes nothing and writes the denial alone.
   *
   * @returns false, with nothing written, where another request was first
   * @throws AppError AUDIT_UNAVAILABLE when it cannot be written
   */
  remove(
    subject: AccessSubject,
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
            // By its id: a grant made anew in the meantime is another one and stays.
            if (grantId === null || !(await grants.remove(vaultId, grantId))) return false;
            await audit.append(expiry);
          }
          await audit.append(denial);
          return true;
        })
        .catch((cause: unknown) => {
          throw refusal(
            'AUDIT_UNAVAILABLE',
            'The access cannot be recorded now, so it is refused. Try again later.',
            {
              cause,
              details: { retryAfter: 5 },
            },
          );
        }),
  };
}
