import type { Id } from '@svault/shared';
import type { Stores } from '../unit-of-work.ts';
import type { Actor, Role } from './actor.ts';

/**
 * The role that an actor has by now, to be asked in the transaction of a change: a request may take its time, and meanwhile
 * its sender was removed or made a member, or what it was signed in by was ended.
 *
 * @returns undefined where nothing is left of the actor
 */
export function currentRole(
  stores: Pick<Stores, 'adminKeys' | 'sessions'>,
  { via, vaultId, credentialId }: Actor,
): Promise<Role | undefined> {
  return via === 'session'
    ? stores.sessions.roleOf(vaultId, credentialId as Id<'ses'>)
    : stores.adminKeys.roleOf(vaultId, credentialId as Id<'adk'>);
}
