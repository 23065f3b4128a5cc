import { type Clock, type Secret, formatTime, hashKey, keyDisplayPrefix, newId } from '@svault/shared';
import { eventBy } from '../core/actor.ts';
import { PLACEHOLDER_EMAIL, type User } from '../core/user.ts';
import type { Stores } from '../core/stores.ts';

interface BootstrapInput {
  /** Undefined: the owner of the first account. */
  readonly email: string | undefined;
  readonly adminKey: Secret | undefined;
}

/**
 * Ensures that the owner account of the settings exists, with the settings' admin key. Idempotent; a changed key replaces the
 * previous one.
 * @returns the owner, and whether the account was created now
 * @throws Error for a key or an address that another account has
 */
export async function ensureOwner(
  stores: Pick<Stores, 'adminKeys' | 'audit' | 'users' | 'vaults'>,
  input: BootstrapInput,
  clock: Clock,
): Promise<{ readonly owner: User; readonly created: boolean }> {
  const now = formatTime(clock.now());
  const existing = await findOwner(stores, input.email);
  const owner = existing ?? (await createAccount(stores, input.email ?? PLACEHOLDER_EMAIL, now));
  await stores.vaults.lockForUpdate(owner.vaultId);
  if (input.adminKey !== undefined) await ensureAdminKey(stores, owner, input.adminKey.reveal(), now);
  return { owner, created: existing === undefined };
}

async function findOwner(
  stores: Pick<Stores, 'audit' | 'users' | 'vaults'>,
  email: string | undefined,
): Promise<User | undefined> {
  if (email === undefined) return (await stores.users.owners())[0];
  const known = await stores.users.findByEmail(email);
  if (known?.isOwner === false)
    throw new Error(
      'SV_BOOTSTRAP_EMAIL is a member of an account and owns none: name an owner, or a new address',
    );
  return known ?? (await namePlaceholder(stores, email));
}

async function namePlaceholder(
  stores: Pick<Stores, 'audit' | 'users' | 'vaults'>,
  email: string,
): Promise<User | undefined> {
  const placeholder = await stores.users.findByEmail(PLACEHOLDER_EMAIL);
  if (placeholder === undefined) return undefined;
  const { id: userId, vaultId } = placeholder;
  await stores.vaults.lockForUpdate(vaultId);
  // Another process that starts at the same time may have been first.
  const named = await stores.users.findByEmail(email);
  if (named !== undefined) return named;
  await stores.users.setEmail(vaultId, userId, email);
  await stores.audit.append(eventBy({ vaultId, userId }, 'MEMBER_UPDATED'));
  return { ...placeholder, email };
}

async function ensureAdminKey(
  stores: Pick<Stores, 'adminKeys' | 'audit'>,
  { id: userId, vaultId }: User,
  key: string,
  createdAt: string,
): Promise<void> {
  const keyHash = hashKey(key);
  const previous = await stores.adminKeys.findFromSettings(userId);
  if (previous?.keyHash === keyHash) return;
  if ((await stores.adminKeys.findByHash(keyHash)) !== undefined)
    throw new Error(
      'SV_BOOTSTRAP_ADMIN_KEY is in use by another account or as a key made in the console: choose a new one',
    );
  const owner = { vaultId, userId };
  if (previous !== undefined) {
    await stores.adminKeys.remove(vaultId, previous.id);
    const detail = { adminKeyId: previous.id };
    await stores.audit.append(eventBy(owner, 'ADMIN_KEY_DELETED', { detail }));
  }
  const id = newId('adk');
  await stores.adminKeys.add({
    id,
    ...owner,
    name: 'settings',
    origin: 'settings',
    keyHash,
    keyPrefix: keyDisplayPrefix(key),
    createdAt,
    lastUsedAt: undefined,
  });
  await stores.audit.append(eventBy(owner, 'ADMIN_KEY_CREATED', { detail: { adminKeyId: id } }));
}

/** Creates an account: a vault and its owner. @param email from `normalizeEmail` */
export async function createAccount(
  stores: Pick<Stores, 'audit' | 'users' | 'vaults'>,
  email: string,
  createdAt: string,
): Promise<User> {
  const vaultId = newId('vlt');
  const owner: User = { id: newId('usr'), vaultId, email, role: 'admin', isOwner: true, createdAt };
  await stores.vaults.add({ id: vaultId, createdAt });
  await stores.users.add(owner);
  await stores.audit.append(eventBy({ vaultId, userId: owner.id }, 'MEMBER_CREATED'));
  return owner;
}
