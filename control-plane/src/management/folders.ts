import { type Clock, formatTime, newId } from '@svault/shared';
import { type Actor, eventBy } from '../core/actor.ts';
import { invalidArgument, orNotFound, ApiError } from '../core/errors.ts';
import type { Stores } from '../core/stores.ts';
import { type Folder, type FolderChanges, MAX_FOLDERS } from '../core/folder.ts';

type FolderStores = Pick<Stores, 'audit' | 'folders' | 'tokens'>;

interface NewFolder {
  readonly name: string;
  readonly serviceNames?: readonly string[] | undefined;
}

/** @throws ApiError INVALID_ARGUMENT for names that are no tokens of the account; CONFLICT where it has as many folders as it may */
export async function createFolder(
  stores: FolderStores,
  actor: Actor,
  { name, serviceNames = [] }: NewFolder,
  clock: Clock,
): Promise<Folder> {
  const { vaultId } = actor;
  if ((await stores.folders.count(vaultId, MAX_FOLDERS)) >= MAX_FOLDERS)
    throw new ApiError(
      'CONFLICT',
      `An account has at most ${MAX_FOLDERS} folders. Delete one to make another.`,
    );
  await rejectUnknownTokens(stores, actor, serviceNames);
  const now = formatTime(clock.now());
  const id = newId('fld');
  await stores.folders.add({ id, vaultId, name, serviceNames, createdAt: now, updatedAt: now });
  const detail = { folderId: id, name, tokens: serviceNames.length };
  await stores.audit.append(eventBy(actor, 'FOLDER_CREATED', { detail }));
  return folderOf(stores, actor, id);
}

/** Changes a folder; grants that were created from it stay. @throws ApiError NOT_FOUND, INVALID_ARGUMENT */
export async function updateFolder(
  stores: FolderStores,
  actor: Actor,
  id: string,
  changes: FolderChanges,
  clock: Clock,
): Promise<Folder> {
  const folder = await folderOf(stores, actor, id);
  const members = Object.keys(changes);
  if (members.length === 0) return folder;
  await rejectUnknownTokens(stores, actor, changes.serviceNames ?? []);
  await stores.folders.update(actor.vaultId, folder.id, changes, formatTime(clock.now()));
  const updated = await folderOf(stores, actor, id);
  const detail = { folderId: folder.id, members, tokens: updated.serviceNames.length };
  await stores.audit.append(eventBy(actor, 'FOLDER_UPDATED', { detail }));
  return updated;
}

/** Deletes a folder; its tokens and the grants that were created from it stay. */
export async function deleteFolder(
  stores: Pick<Stores, 'audit' | 'folders'>,
  actor: Actor,
  id: string,
): Promise<void> {
  const { id: folderId, name } = await folderOf(stores, actor, id);
  await stores.folders.remove(actor.vaultId, folderId);
  await stores.audit.append(eventBy(actor, 'FOLDER_DELETED', { detail: { folderId, name } }));
}

/** @throws ApiError NOT_FOUND */
export const folderOf = async (stores: Pick<Stores, 'folders'>, actor: Actor, id: string): Promise<Folder> =>
  orNotFound(await stores.folders.get(actor.vaultId, id));

async function rejectUnknownTokens(
  stores: Pick<Stores, 'tokens'>,
  actor: Actor,
  serviceNames: readonly string[],
): Promise<void> {
  const known = await stores.tokens.known(actor.vaultId, serviceNames);
  const issues = serviceNames.flatMap((name, index) =>
    known.has(name) ? [] : [{ path: `serviceNames.${index}`, message: 'is no token of this account' }],
  );
  if (issues.length > 0) throw invalidArgument(issues);
}
