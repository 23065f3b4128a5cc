import type { Kysely, Selectable } from 'kysely';
import type { Id } from '@svault/shared';
import type { Folder, FolderStore } from '../../core/folder.ts';
import { pageOf } from '../../core/paging.ts';
import { afterKey, chunksOf, countUpTo } from './pagination.ts';
import type { Schema } from '../schema/schema.ts';

export function createFolderStore(db: Kysely<Schema>): FolderStore {
  const namesIn = async (folderId: Id<'fld'>): Promise<string[]> => {
    const rows = await db
      .selectFrom('folder_tokens')
      .select('service_name')
      .where('folder_id', '=', folderId)
      .orderBy('service_name')
      .execute();
    return rows.map((row) => row.service_name);
  };
  const fill = async (vaultId: Id<'vlt'>, folderId: Id<'fld'>, serviceNames: readonly string[]) => {
    const rows = serviceNames.map((name) => ({ vault_id: vaultId, folder_id: folderId, service_name: name }));
    for (const chunk of chunksOf(rows)) await db.insertInto('folder_tokens').values(chunk).execute();
  };
  const empty = async (vaultId: Id<'vlt'>, folderId: Id<'fld'>): Promise<void> => {
    await db
      .deleteFrom('folder_tokens')
      .where('folder_id', '=', folderId)
      .where('vault_id', '=', vaultId)
      .execute();
  };

  return {
    add: async ({ id, vaultId, name, serviceNames, createdAt, updatedAt }) => {
      const row = { id, vault_id: vaultId, name, created_at: createdAt, updated_at: updatedAt };
      await db.insertInto('folders').values(row).execute();
      await fill(vaultId, id, serviceNames);
    },
    get: async (vaultId, id) => {
      const row = await db
        .selectFrom('folders')
        .selectAll()
        .where('vault_id', '=', vaultId)
        .where('id', '=', id as Id<'fld'>)
        .executeTakeFirst();
      return row && toFolder(row, await namesIn(row.id));
    },
    list: async (vaultId, page) => {
      const rows = await db
        .selectFrom('folders')
        .selectAll()
        .where('vault_id', '=', vaultId)
        .where(afterKey(['created_at', 'id'], page))
        .orderBy('created_at')
        .orderBy('id')
        .limit(page.limit + 1)
        .execute();
      const { items, ...rest } = pageOf(rows, page.limit, (row) => [row.created_at, row.id]);
      const folders: Folder[] = [];
      for (const row of items) folders.push(toFolder(row, await namesIn(row.id)));
      return { ...rest, items: folders };
    },
    count: (vaultId, atMost) =>
      countUpTo(db, db.selectFrom('folders').where('vault_id', '=', vaultId), atMost),
    update: async (vaultId, id, { name, serviceNames }, updatedAt) => {
      await db
        .updateTable('folders')
        .set({ updated_at: updatedAt, ...(name !== undefined && { name }) })
        .where('vault_id', '=', vaultId)
        .where('id', '=', id)
        .execute();
      if (serviceNames === undefined) return;
      await empty(vaultId, id);
      await fill(vaultId, id, serviceNames);
    },
    remove: async (vaultId, id) => {
      await empty(vaultId, id);
      const { numDeletedRows } = await db
        .deleteFrom('folders')
        .where('vault_id', '=', vaultId)
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      return numDeletedRows > 0n;
    },
    ofTokens: async (vaultId, serviceNames) => {
      const folders = new Map<string, Id<'fld'>[]>();
      for (const chunk of chunksOf(serviceNames)) {
        const rows = await db
          .selectFrom('folder_tokens')
          .select(['service_name', 'folder_id'])
          .where('vault_id', '=', vaultId)
          .where('service_name', 'in', chunk)
          .orderBy('service_name')
          .orderBy('folder_id')
          .execute();
        for (const [name, group] of Map.groupBy(rows, (row) => row.service_name))
          folders.set(
            name,
            group.map((row) => row.folder_id),
          );
      }
      return folders;
    },
    forgetToken: async (vaultId, serviceName) => {
      const { numDeletedRows } = await db
        .deleteFrom('folder_tokens')
        .where('vault_id', '=', vaultId)
        .where('service_name', '=', serviceName)
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    },
  };
}

function toFolder(row: Selectable<Schema['folders']>, serviceNames: readonly string[]): Folder {
  return {
    id: row.id,
    vaultId: row.vault_id,
    name: row.name,
    serviceNames,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
