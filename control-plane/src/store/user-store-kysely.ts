import type { Kysely, Selectable } from 'kysely';
import type { User, UserStore } from '../accounts/user-store.ts';
import type { Schema } from './schema.ts';

export function createUserStore(db: Kysely<Schema>): UserStore {
  const users = db.selectFrom('users').selectAll();
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
    get: async (vaultId, id) =>
      firstOf(await users.where('vault_id', '=', vaultId).where('id', '=', id).execute()),
    findByEmail: async (email) => firstOf(await users.where('email', '=', email).execute()),
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
  };
}

type Row = Selectable<Schema['users']>;

const firstOf = ([row]: readonly Row[]): User | undefined => row && toUser(row);

function toUser(row: Row): User {
  return {
    id: row.id,
    vaultId: row.vault_id,
    email: row.email,
    role: row.role,
    isOwner: row.is_owner === 1,
    createdAt: row.created_at,
  };
}
