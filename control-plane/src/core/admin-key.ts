import type { Id } from '@svault/shared';
import type { Page, PageRequest } from './paging.ts';
import type { Role } from './actor.ts';

/** What is kept of an `svadmin_` key: never the key. */
export interface AdminKey {
  readonly id: Id<'adk'>;
  readonly vaultId: Id<'vlt'>;
  /** In whose name it acts. */
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
  /** Of whose name the key acts in; undefined where there is no such key, or that user was removed. */
  roleOf(vaultId: Id<'vlt'>, id: Id<'adk'>): Promise<Role | undefined>;
  /** Ids of the keys that act in this user's name. */
  idsOfUser(userId: Id<'usr'>): Promise<readonly Id<'adk'>[]>;
  /** The key that the settings made for this user, if any. */
  findFromSettings(userId: Id<'usr'>): Promise<(AdminKey & { readonly keyHash: string }) | undefined>;
  touch(id: Id<'adk'>, usedAt: string): Promise<void>;
}
