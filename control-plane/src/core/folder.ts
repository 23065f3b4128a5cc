import type { Id } from '@svault/shared';

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
