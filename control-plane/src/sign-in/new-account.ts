import { newId } from '@svault/shared';
import type { Stores } from '../core/stores.ts';
import type { User } from '../core/user.ts';

/** Makes an account: a vault, and the person who owns it. @param email as `normalizeEmail` leaves it */
export async function createAccount(
  stores: Pick<Stores, 'audit' | 'users' | 'vaults'>,
  email: string,
  createdAt: string,
): Promise<User> {
  const vaultId = newId('vlt');
  const owner: User = { id: newId('usr'), vaultId, email, role: 'admin', isOwner: true, createdAt };
  await stores.vaults.add({ id: vaultId, createdAt });
  await stores.users.add(owner);
  await stores.audit.append({ vaultId, userId: owner.id, eventType: 'MEMBER_CREATED', outcome: 'success' });
  return owner;
}
