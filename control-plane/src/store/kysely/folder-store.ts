import type { Kysely } from 'kysely';
import type { Id } from '@svault/shared';
import type { FolderStore } from '../../core/folder.ts';
import { nameKey } from '../../core/name.ts';
import type { Schema } from '../schema.ts';
import {
  all,
  changesRow,
  chunksOf,
  countUpTo,
  first,
  nameContains,
  pageBy,
  rowsChanged,
  rowsOfChunks,
  run,
} from './queries.ts';
import { toChanges, toEntity, toRow } from './rows.ts';

export function createFolderStore(db: Kysely<Schema>): FolderStore {
  const folders = (vaultId: Id<'vlt'>) =>
    db
      .selectFrom('folders')
      .select(['id', 'vault_id', 'name', 'created_at', 'updated_at'])
      .where('vault_id', '=', vaultId);
  const withNames = async <Row extends { readonly id: Id<'fld'> }>(folder: Row) => ({
    ...folder,
    serviceNames: await all(
      db
        .selectFrom('folder_tokens')
        .select('service_name')
        .where('folder_id', '=', folder.id)
        .orderBy('service_name'),
      (row) => row.service_name,
    ),
  });
  const fill = async (vaultId: Id<'vlt'>, folderId: Id<'fld'>, serviceNames: readonly string[]) => {
    const rows = serviceNames.map((name) => ({ vault_id: vaultId, folder_id: folderId, service_name: name }));
    for (const chunk of chunksOf(rows)) await run(db.insertInto('folder_tokens').values(chunk));
  };
  const empty = (vaultId: Id<'vlt'>, folderId: Id<'fld'>) =>
    run(db.deleteFrom('folder_tokens').where('folder_id', '=', folderId).where('vault_id', '=', vaultId));

  return {
    add: async ({ serviceNames, ...folder }) => {
      await run(db.insertInto('folders').values({ ...toRow(folder), name_key: nameKey(folder.name) }));
      await fill(folder.vaultId, folder.id, serviceNames);
    },
    get: async (vaultId, id) => {
      const folder = await first(folders(vaultId).where('id', '=', id as Id<'fld'>), toEntity);
      return folder && withNames(folder);
    },
    list: async (vaultId, page) => {
      const named = nameContains(page.name);
      const found = await pageBy(['created_at', 'id'], folders(vaultId), page, toEntity, named);
      const items = [];
      for (const folder of found.items) items.push(await withNames(folder));
      return { ...found, items };
    },
    count: (vaultId, atMost) =>
      countUpTo(db, db.selectFrom('folders').where('vault_id', '=', vaultId), atMost),
    update: async (vaultId, id, { name, serviceNames }, updatedAt) => {
      const changes = {
        ...toChanges({ name, updatedAt }),
        ...(name !== undefined && { name_key: nameKey(name) }),
      };
      await run(db.updateTable('folders').set(changes).where('vault_id', '=', vaultId).where('id', '=', id));
      if (serviceNames === undefined) return;
      await empty(vaultId, id);
      await fill(vaultId, id, serviceNames);
    },
    remove: async (vaultId, id) => {
      await empty(vaultId, id);
      return changesRow(db.deleteFrom('folders').where('vault_id', '=', vaultId).where('id', '=', id));
    },
    ofTokens: async (vaultId, serviceNames) => {
      const inFolders = db
        .selectFrom('folder_tokens')
        .select(['service_name', 'folder_id'])
        .where('vault_id', '=', vaultId)
        .orderBy('service_name')
        .orderBy('folder_id');
      const rows = await rowsOfChunks(serviceNames, (chunk) => inFolders.where('service_name', 'in', chunk));
      const groups = Map.groupBy(rows, (row) => row.service_name);
      return new Map([...groups].map(([name, group]) => [name, group.map((row) => row.folder_id)]));
    },
    forgetToken: (vaultId, serviceName) =>
      rowsChanged(
        db
          .deleteFrom('folder_tokens')
          .where('vault_id', '=', vaultId)
          .where('service_name', '=', serviceName),
      ),
  };
}
