import type { Id } from '@svault/shared';
import type { Page, PageRequest } from './paging.ts';
import type { Role } from './actor.ts';

/** An `svadmin_` key as it is stored, without the key. */
export interface AdminKey {
  readonly id: Id<'adk'>;
  readonly vaultId: Id<'vlt'>;
  /** The user whose role it has. */
  readonly userId: Id<'usr'>;
  readonly name: string;
  /** `settings`: from SV_BOOTSTRAP_ADMIN_KEY. */
  readonly origin: 'settings' | 'api';
  readonly keyPrefix: string;
  readonly createdAt: string;
  readonly lastUsedAt: string | undefined;
}

export interface AdminKeyStore {
  add(key: AdminKey & { readonly keyHash: string }): Promise<void>;
  findByHash(keyHash: string): Promise<(AdminKey & { readonly role: Role }) | undefined>;
  /** Oldest first. */
  list(vaultId: Id<'vlt'>, page: PageRequest): Promise<Page<AdminKey>>;
  /** @returns whether there was one */
  remove(vaultId: Id<'vlt'>, id: Id<'adk'>): Promise<boolean>;
  /** The role of the key's user; undefined where the key or the user was removed. */
  roleOf(vaultId: Id<'vlt'>, id: Id<'adk'>): Promise<Role | undefined>;
  /** Ids of the user's keys. */
  idsOfUser(userId: Id<'usr'>): Promise<readonly Id<'adk'>[]>;
  /** The user's key from SV_BOOTSTRAP_ADMIN_KEY. */
  findFromSettings(userId: Id<'usr'>): Promise<(AdminKey & { readonly keyHash: string }) | undefined>;
  touch(id: Id<'adk'>, usedAt: string): Promise<void>;
}
