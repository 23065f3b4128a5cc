import { type Clock, type Id, formatTime, hashKey, keyDisplayPrefix, newId, newKey } from '@svault/shared';
import { notFound } from '../core/errors.ts';
import type { Stores } from '../core/stores.ts';
import { type Actor, eventBy } from '../core/actor.ts';
import type { AdminKey } from '../core/admin-key.ts';
import { noteUse } from '../sign-in/sessions.ts';

/** Authenticates a key; undefined for one that is unknown or revoked. */
export async function resolveAdminKey(
  stores: Pick<Stores, 'adminKeys'>,
  key: string,
  clock: Clock,
): Promise<Actor | undefined> {
  const found = await stores.adminKeys.findByHash(hashKey(key));
  if (found === undefined) return undefined;
  const { id, vaultId, userId, role, lastUsedAt } = found;
  await noteUse(lastUsedAt, clock, (usedAt) => stores.adminKeys.touch(id, usedAt));
  return { vaultId, userId, role, via: 'adminKey', credentialId: id };
}

/** Creates an admin key of the actor; only its hash is stored. */
export async function createAdminKey(
  stores: Pick<Stores, 'adminKeys' | 'audit'>,
  actor: Actor,
  name: string,
  clock: Clock,
): Promise<{ readonly adminKey: AdminKey; readonly key: string }> {
  const key = newKey('svadmin');
  const adminKey: AdminKey = {
    id: newId('adk'),
    vaultId: actor.vaultId,
    userId: actor.userId,
    name,
    origin: 'api',
    keyPrefix: keyDisplayPrefix(key),
    createdAt: formatTime(clock.now()),
    lastUsedAt: undefined,
  };
  await stores.adminKeys.add({ ...adminKey, keyHash: hashKey(key) });
  await stores.audit.append(
    eventBy(actor, 'ADMIN_KEY_CREATED', { detail: { adminKeyId: adminKey.id, name } }),
  );
  return { adminKey, key };
}

/** Revokes an admin key at once. @throws ApiError NOT_FOUND */
export async function deleteAdminKey(
  stores: Pick<Stores, 'adminKeys' | 'audit'>,
  actor: Actor,
  id: string,
): Promise<void> {
  const removed = await stores.adminKeys.remove(actor.vaultId, id as Id<'adk'>);
  if (!removed) throw notFound();
  await stores.audit.append(eventBy(actor, 'ADMIN_KEY_DELETED', { detail: { adminKeyId: id } }));
}
