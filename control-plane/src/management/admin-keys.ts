import { type Clock, type Id, formatTime, hashKey, keyDisplayPrefix, newId, newKey } from '@svault/shared';
import type { Actor } from '../core/actor.ts';
import type { AdminKey } from '../core/admin-key.ts';
import { recordChange } from '../core/change.ts';
import { notFound } from '../core/errors.ts';
import type { Change, Stores } from '../core/stores.ts';
import { noteUse } from '../sign-in/sessions.ts';

/** Authenticates a key; undefined for one that is unknown or revoked. */
export async function resolveAdminKey(
  { adminKeys }: Pick<Stores, 'adminKeys'>,
  key: string,
  clock: Clock,
): Promise<Actor | undefined> {
  const found = await adminKeys.findByHash(hashKey(key));
  if (found === undefined) return undefined;
  const { id, vaultId, userId, role, lastUsedAt } = found;
  await noteUse(lastUsedAt, clock, (usedAt) => adminKeys.touch(id, usedAt));
  return { vaultId, userId, role, via: 'adminKey', credentialId: id };
}

/** Creates an admin key of the actor; only its hash is stored. */
export async function createAdminKey(
  change: Change,
  name: string,
  clock: Clock,
): Promise<{ readonly adminKey: AdminKey; readonly key: string }> {
  const key = newKey('svadmin');
  const adminKey: AdminKey = {
    id: newId('adk'),
    vaultId: change.actor.vaultId,
    userId: change.actor.userId,
    name,
    origin: 'api',
    keyPrefix: keyDisplayPrefix(key),
    createdAt: formatTime(clock.now()),
    lastUsedAt: undefined,
  };
  await change.adminKeys.add({ ...adminKey, keyHash: hashKey(key) });
  await recordChange(change, 'ADMIN_KEY_CREATED', { detail: { adminKeyId: adminKey.id, name } });
  return { adminKey, key };
}

/** Revokes an admin key at once. @throws ApiError NOT_FOUND */
export async function deleteAdminKey(change: Change, id: string): Promise<void> {
  if (!(await change.adminKeys.remove(change.actor.vaultId, id as Id<'adk'>))) throw notFound();
  await recordChange(change, 'ADMIN_KEY_DELETED', { detail: { adminKeyId: id } });
}
