import type { Kysely } from 'kysely';
import type { IdentityStore } from '../../core/user.ts';
import type { Schema } from '../schema/schema.ts';
import { toUser } from './user-rows.ts';

export function createIdentityStore(db: Kysely<Schema>): IdentityStore {
  return {
    findUser: async ({ issuer, subject }) => {
      const row = await db
        .selectFrom('identities')
        .innerJoin('users', 'users.id', 'identities.user_id')
        .selectAll('users')
        .where('issuer', '=', issuer)
        .where('subject', '=', subject)
        .where('users.deleted_at', 'is', null)
        .executeTakeFirst();
      return row && toUser(row);
    },
    has: async (userId, issuer) => {
      const row = await db
        .selectFrom('identities')
        .select('subject')
        .where('user_id', '=', userId)
        .where('issuer', '=', issuer)
        .executeTakeFirst();
      return row !== undefined;
    },
    bind: async ({ issuer, subject }, userId, createdAt) => {
      const row = { issuer, subject, user_id: userId, created_at: createdAt };
      await db.insertInto('identities').values(row).execute();
    },
    removeOfUser: async (userId) => {
      await db.deleteFrom('identities').where('user_id', '=', userId).execute();
    },
  };
}
