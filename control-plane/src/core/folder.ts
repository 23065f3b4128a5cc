import type { Id } from '@svault/shared';
import type { NamedPageRequest, Page } from './paging.ts';

/** A group of tokens that grants are made from (specification, "Grant": `sourceGroupId`); it grants nothing itself. */
export interface Folder {
  readonly id: Id<'fld'>;
  readonly vaultId: Id<'vlt'>;
  readonly name: string;
  /** The tokens in it, each once, by name. */
  readonly serviceNames: readonly string[];
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Undefined members stay; `serviceNames` replaces the list. */
export interface FolderChanges {
  readonly name?: string | undefined;
  readonly serviceNames?: readonly string[] | undefined;
}

/** A folder's grants are one short transaction, and a list of folders is one response. */
export const MAX_FOLDER_TOKENS = 500;
/** Of one account: a token's view names every folder that it is in. */
export const MAX_FOLDERS = 1_000;

export interface FolderStore {
  /** @param folder its service names are tokens of the vault, each once */
  add(folder: Folder): Promise<void>;
  get(vaultId: Id<'vlt'>, id: string): Promise<Folder | undefined>;
  /** Oldest first. */
  list(vaultId: Id<'vlt'>, page: NamedPageRequest): Promise<Page<Folder>>;
  /** Stops counting at `atMost`. */
  count(vaultId: Id<'vlt'>, atMost: number): Promise<number>;
  update(vaultId: Id<'vlt'>, id: Id<'fld'>, changes: FolderChanges, updatedAt: string): Promise<void>;
  /** @returns whether it was there */
  remove(vaultId: Id<'vlt'>, id: Id<'fld'>): Promise<boolean>;
  /** The ids of each token's folders; without tokens that are in none. */
  ofTokens(
    vaultId: Id<'vlt'>,
    serviceNames: readonly string[],
  ): Promise<ReadonlyMap<string, readonly Id<'fld'>[]>>;
  /** Removes a token from every folder. @returns how many it was in */
  forgetToken(vaultId: Id<'vlt'>, serviceName: string): Promise<number>;
}
