import type { Id } from '@svault/shared';
import { refusal } from '../core/errors.ts';
import type { Change, Stores, UnitOfWork } from '../core/stores.ts';
import { refuseWhileLocked } from '../core/lock.ts';
import { type Actor, ROLES, type Role } from '../core/actor.ts';

/**
 * The changes that a request may make: its sender is looked at once more in the transaction of each. A request may take its
 * time, and meanwhile its sender was removed or made a member, or what it was signed in by was ended. Where the change
 * is refused while the vault is locked, the lock is looked at there too.
 *
 * @param options.gone throws the refusal for a sender of whom nothing is left
 * @throws from the returned function, what `gone` throws; AppError FORBIDDEN, VAULT_LOCKED
 */
export function changeOf(
  actor: Actor,
  options: {
    readonly unitOfWork: UnitOfWork;
    readonly whenLocked: 'answers' | 'refused';
    readonly gone: () => never;
  },
): Change {
  const { unitOfWork, whenLocked, gone } = options;
  return (work) =>
    unitOfWork.run(actor.vaultId, async (inside) => {
      requireRole((await currentRole(inside, actor)) ?? gone(), actor.role);
      if (whenLocked === 'refused') await refuseWhileLocked(inside, actor.vaultId);
      return work(inside);
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

/** @throws AppError FORBIDDEN for a known caller whose role is too weak */
export function requireRole(has: Role, needed: Role): void {
  if (ROLES.indexOf(has) < ROLES.indexOf(needed))
    throw refusal('FORBIDDEN', 'This needs an admin of the account.');
}
