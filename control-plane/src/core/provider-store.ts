import type { Id } from '@svault/shared';
import type { Page, PageRequest } from './paging.ts';
import type { Provider, StoredProvider } from './provider.ts';

export interface ProviderStore {
  /** @returns false, and changes nothing, where the account has one of this token URL and client id already */
  add(provider: StoredProvider): Promise<boolean>;
  get(vaultId: Id<'vlt'>, id: string): Promise<StoredProvider | undefined>;
  /** By both values, byte for byte. */
  find(vaultId: Id<'vlt'>, tokenUrl: string, clientId: string): Promise<StoredProvider | undefined>;
  /** Oldest first. */
  list(vaultId: Id<'vlt'>, page: PageRequest): Promise<Page<Provider>>;
  /** How many there are, counted no further than `atMost`. */
  count(vaultId: Id<'vlt'>, atMost: number): Promise<number>;
  /** Takes the place of the one with its id. */
  replace(provider: StoredProvider): Promise<void>;
  /** @returns whether it was there */
  remove(vaultId: Id<'vlt'>, id: Id<'prv'>): Promise<boolean>;
}
