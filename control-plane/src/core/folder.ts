import type { Id } from '@svault/shared';
import type { Page, PageRequest } from './paging.ts';

/** A group of tokens (specification, "Grant": `sourceGroupId`). It gives nobody anything; grants are made from it. */
export interface Folder {
  readonly id: Id<'fld'>;
  readonly vaultId: Id<'vlt'>;
  readonly name: string;
  /** The tokens in it, each once, by name. */
  readonly serviceNames: readonly string[];
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** What an owner may change; undefined members stay, `serviceNames` takes the former list's place. */
export interface FolderChanges {
  readonly name?: string | undefined;
  readonly serviceNames?: readonly string[] | undefined;
}

/** So that a folder's grants are one short transaction, and a list of folders one answer. */
export const MAX_FOLDER_TOKENS = 500;
/** Of one account: a token's view names every folder that it is in. */
export const MAX_FOLDERS = 1_000;

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
