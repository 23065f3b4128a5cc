import type { Kysely } from 'kysely';
import type { PasswordStore } from '../../core/user.ts';
import type { Schema } from '../schema/schema.ts';

export function createPasswordStore(db: Kysely<Schema>): PasswordStore {
  return {
    findByEmail: (email) =>
      db
        .selectFrom('users')
        .innerJoin('passwords', 'passwords.user_id', 'users.id')
        .select(['users.id as userId', 'users.vault_id as vaultId', 'password_hash as passwordHash'])
        .where('users.email', '=', email)
        .where('users.deleted_at', 'is', null)
        .executeTakeFirst(),
    find: async (userId) => {
      const row = await db
        .selectFrom('passwords')
        .select('password_hash')
        .where('user_id', '=', userId)
        .executeTakeFirst();
      return row?.password_hash;
    },
    set: async (userId, passwordHash, changedAt) => {
      const row = { password_hash: passwordHash, changed_at: changedAt };
      await db
        .insertInto('passwords')
        .values({ user_id: userId, ...row })
        .onConflict((conflict) => conflict.column('user_id').doUpdateSet(row))
        .execute();
    },
    remove: async (userId) => {
      await db.deleteFrom('passwords').where('user_id', '=', userId).execute();
    },
  };
}
