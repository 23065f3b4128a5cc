import type { Id } from '@svault/shared';
import { ApiError } from '../core/errors.ts';
import type { Stores, Transaction, UnitOfWork } from '../core/stores.ts';
import { requireUnlocked } from '../core/vault.ts';
import { type Actor, ROLES, type Role } from '../core/actor.ts';

/**
 * Transactions of a management request. Each one checks the sender again: while the request ran, an admin may have removed
 * the sender, lowered their role, or ended the session or key that the request was authenticated with.
 * @param options.whenLocked `refused`: each transaction also checks that the vault is not locked
 * @param options.gone throws the denial for a sender whose session or key has ended
 * @throws from the returned function, what `gone` throws; ApiError FORBIDDEN, VAULT_LOCKED
 */
export function transactionAs(
  actor: Actor,
  options: {
    readonly unitOfWork: UnitOfWork;
    readonly whenLocked: 'allowed' | 'denied';
    readonly gone: () => never;
  },
): Transaction {
  const { unitOfWork, whenLocked, gone } = options;
  return (work) =>
    unitOfWork.run(actor.vaultId, async (inside) => {
      requireRole((await currentRole(inside, actor)) ?? gone(), actor.role);
      if (whenLocked === 'denied') await requireUnlocked(inside, actor.vaultId);
      return work({ ...inside, actor });
    });
}

/** The role that an actor has by now; undefined where nothing is left of them. */
function currentRole(
  stores: Pick<Stores, 'adminKeys' | 'sessions'>,
  { via, vaultId, credentialId }: Actor,
): Promise<Role | undefined> {
  return via === 'session'
    ? stores.sessions.roleOf(vaultId, credentialId as Id<'ses'>)
    : stores.adminKeys.roleOf(vaultId, credentialId as Id<'adk'>);
}

/** @throws ApiError FORBIDDEN for a known caller whose role is too weak */
export function requireRole(has: Role, needed: Role): void {
  if (ROLES.indexOf(has) < ROLES.indexOf(needed))
    throw new ApiError('FORBIDDEN', 'This needs an admin of the account.');
}
