import { type Clock, formatTime, newId } from '@svault/shared';
import { ownOf, recordChange } from '../core/change.ts';
import { ApiError, invalidArgument } from '../core/errors.ts';
import { type Folder, type FolderChanges, MAX_FOLDERS } from '../core/folder.ts';
import type { Change } from '../core/stores.ts';

interface NewFolder extends FolderChanges {
  readonly name: string;
}

/** @throws ApiError INVALID_ARGUMENT for names that are no tokens of the account; CONFLICT where it has as many folders as it may */
export async function createFolder(
  change: Change,
  { name, serviceNames = [] }: NewFolder,
  clock: Clock,
): Promise<Folder> {
  const { vaultId } = change.actor;
  if ((await change.folders.count(vaultId, MAX_FOLDERS)) >= MAX_FOLDERS)
    throw new ApiError(
      'CONFLICT',
      `An account has at most ${MAX_FOLDERS} folders. Delete one to make another.`,
    );
  await rejectUnknownTokens(change, serviceNames);
  const now = formatTime(clock.now());
  const id = newId('fld');
  await change.folders.add({ id, vaultId, name, serviceNames, createdAt: now, updatedAt: now });
  const detail = { folderId: id, name, tokens: serviceNames.length };
  await recordChange(change, 'FOLDER_CREATED', { detail });
  return ownOf(change.folders, change.actor, id);
}

/** Changes a folder; grants that were created from it stay. @throws ApiError NOT_FOUND, INVALID_ARGUMENT */
export async function updateFolder(
  change: Change,
  id: string,
  changes: FolderChanges,
  clock: Clock,
): Promise<Folder> {
  const folder = await ownOf(change.folders, change.actor, id);
  const members = Object.keys(changes);
  if (members.length === 0) return folder;
  await rejectUnknownTokens(change, changes.serviceNames ?? []);
  await change.folders.update(folder.vaultId, folder.id, changes, formatTime(clock.now()));
  const updated = await ownOf(change.folders, change.actor, id);
  const detail = { folderId: folder.id, members, tokens: updated.serviceNames.length };
  await recordChange(change, 'FOLDER_UPDATED', { detail });
  return updated;
}

/** Deletes a folder; its tokens and the grants that were created from it stay. */
export async function deleteFolder(change: Change, id: string): Promise<void> {
  const { vaultId, id: folderId, name } = await ownOf(change.folders, change.actor, id);
  await change.folders.remove(vaultId, folderId);
  await recordChange(change, 'FOLDER_DELETED', { detail: { folderId, name } });
}

async function rejectUnknownTokens(
  { actor, tokens }: Change,
  serviceNames: readonly string[],
): Promise<void> {
  const known = await tokens.known(actor.vaultId, serviceNames);
  const issues = serviceNames.flatMap((name, index) =>
    known.has(name) ? [] : [{ path: `serviceNames.${index}`, message: 'is no token of this account' }],
  );
  if (issues.length > 0) throw invalidArgument(issues);
}
