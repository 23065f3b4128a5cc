import type { Kysely, Selectable } from 'kysely';
import type { AdminKey, AdminKeyStore } from '../../core/admin-key.ts';
import { pageOf } from '../../core/paging.ts';
import { afterKey } from './pagination.ts';
import type { Schema } from '../schema/schema.ts';

export function createAdminKeyStore(db: Kysely<Schema>): AdminKeyStore {
  return {
    add: async (key) => {
      const row = {
        id: key.id,
        vault_id: key.vaultId,
        user_id: key.userId,
        name: key.name,
        origin: key.origin,
        key_hash: key.keyHash,
        key_prefix: key.keyPrefix,
        created_at: key.createdAt,
        last_used_at: key.lastUsedAt ?? null,
      };
      await db.insertInto('admin_keys').values(row).execute();
    },
    findByHash: async (keyHash) => {
      const row = await db
        .selectFrom('admin_keys')
        .innerJoin('users', 'users.id', 'admin_keys.user_id')
        .selectAll('admin_keys')
        .select('users.role')
        .where('key_hash', '=', keyHash)
        .where('users.deleted_at', 'is', null)
        .executeTakeFirst();
      return row && { ...toAdminKey(row), role: row.role };
    },
    roleOf: async (vaultId, id) => {
      const row = await db
        .selectFrom('admin_keys')
        .innerJoin('users', 'users.id', 'admin_keys.user_id')
        .select('users.role')
        .where('admin_keys.vault_id', '=', vaultId)
        .where('admin_keys.id', '=', id)
        .where('users.deleted_at', 'is', null)
        .executeTakeFirst();
      return row?.role;
    },
    list: async (vaultId, page) => {
      const rows = await db
        .selectFrom('admin_keys')
        .selectAll()
        .where('vault_id', '=', vaultId)
        .where(afterKey(['created_at', 'id'], page))
        .orderBy('created_at')
        .orderBy('id')
        .limit(page.limit + 1)
        .execute();
      return pageOf(rows.map(toAdminKey), page.limit, ({ createdAt, id }) => [createdAt, id]);
    },
    remove: async (vaultId, id) => {
      const { numDeletedRows } = await db
        .deleteFrom('admin_keys')
        .where('vault_id', '=', vaultId)
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      return numDeletedRows > 0n;
    },
    idsOfUser: async (userId) => {
      const rows = await db.selectFrom('admin_keys').select('id').where('user_id', '=', userId).execute();
      return rows.map(({ id }) => id);
    },
    findFromSettings: async (userId) => {
      const row = await db
        .selectFrom('admin_keys')
        .selectAll()
        .where('user_id', '=', userId)
        .where('origin', '=', 'settings')
        .executeTakeFirst();
      return row && { ...toAdminKey(row), keyHash: row.key_hash };
    },
    touch: async (id, usedAt) => {
      await db.updateTable('admin_keys').set({ last_used_at: usedAt }).where('id', '=', id).execute();
    },
  };
}

function toAdminKey(row: Selectable<Schema['admin_keys']>): AdminKey {
  return {
    id: row.id,
    vaultId: row.vault_id,
    userId: row.user_id,
    name: row.name,
    origin: row.origin,
    keyPrefix: row.key_prefix,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at ?? undefined,
  };
}
