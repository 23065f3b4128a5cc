import type { Id } from '@svault/shared';
import type { Page, PageRequest } from './paging.ts';
import type { Folder, FolderChanges } from './folder.ts';

export interface FolderStore {
  /** @param folder its service names are tokens of the vault, each once */
  add(folder: Folder): Promise<void>;
  get(vaultId: Id<'vlt'>, id: string): Promise<Folder | undefined>;
  /** Oldest first. */
  list(vaultId: Id<'vlt'>, page: PageRequest): Promise<Page<Folder>>;
  /** How many there are, counted no further than `atMost`. */
  count(vaultId: Id<'vlt'>, atMost: number): Promise<number>;
  update(vaultId: Id<'vlt'>, id: Id<'fld'>, changes: FolderChanges, updatedAt: string): Promise<void>;
  /** @returns whether it was there */
  remove(vaultId: Id<'vlt'>, id: Id<'fld'>): Promise<boolean>;
  /** The ids of the folders that each token is in; tokens in none are left out. */
  ofTokens(
    vaultId: Id<'vlt'>,
    serviceNames: readonly string[],
  ): Promise<ReadonlyMap<string, readonly Id<'fld'>[]>>;
  /** Takes a token out of every folder. @returns how many it was in */
  forgetToken(vaultId: Id<'vlt'>, serviceName: string): Promise<number>;
}
