import type { Kysely } from 'kysely';
import type { UserStore } from '../../core/user.ts';
import { pageOf } from '../../core/paging.ts';
import { afterKey } from './keyset.ts';
import type { Schema } from '../schema/schema.ts';
import { toUser } from './user-rows.ts';

export function createUserStore(db: Kysely<Schema>): UserStore {
  const users = db.selectFrom('users').selectAll().where('deleted_at', 'is', null);
  return {
    add: async (user) => {
      const row = {
        id: user.id,
        vault_id: user.vaultId,
        email: user.email,
        role: user.role,
        is_owner: user.isOwner ? 1 : 0,
        created_at: user.createdAt,
      } as const;
      await db.insertInto('users').values(row).execute();
    },
    get: async (vaultId, id) => {
      const row = await users.where('vault_id', '=', vaultId).where('id', '=', id).executeTakeFirst();
      return row && toUser(row);
    },
    findByEmail: async (email) => {
      const row = await users.where('email', '=', email).executeTakeFirst();
      return row && toUser(row);
    },
    list: async (vaultId, page) => {
      const rows = await users
        .where('vault_id', '=', vaultId)
        .where(afterKey(['created_at', 'id'], page))
        .orderBy('created_at')
        .orderBy('id')
        .limit(page.limit + 1)
        .execute();
      return pageOf(rows.map(toUser), page.limit, ({ createdAt, id }) => [createdAt, id]);
    },
    ownerOf: async (vaultId) => {
      const row = await users.where('vault_id', '=', vaultId).where('is_owner', '=', 1).executeTakeFirst();
      return row && toUser(row);
    },
    owners: async () => {
      const rows = await users.where('is_owner', '=', 1).orderBy('created_at').orderBy('id').execute();
      return rows.map(toUser);
    },
    setEmail: async (vaultId, id, email) => {
      await db
        .updateTable('users')
        .set({ email })
        .where('vault_id', '=', vaultId)
        .where('id', '=', id)
        .execute();
    },
    setRole: async (vaultId, id, role) => {
      await db
        .updateTable('users')
        .set({ role })
        .where('vault_id', '=', vaultId)
        .where('id', '=', id)
        .execute();
    },
    markDeleted: async (vaultId, id, deletedAt) => {
      await db
        .updateTable('users')
        // An id has no at sign, so that nobody's address is ever equal to it.
        .set({ email: id, role: 'member', deleted_at: deletedAt })
        .where('vault_id', '=', vaultId)
        .where('id', '=', id)
        .execute();
    },
  };
}
