import type { Kysely, Selectable } from 'kysely';
import type { LoginLink, LoginLinkStore } from '../../core/user.ts';
import type { Schema } from '../schema/schema.ts';

export function createLoginLinkStore(db: Kysely<Schema>): LoginLinkStore {
  return {
    add: async ({ tokenHash, vaultId, userId, expiresAt }) => {
      const row = { token_hash: tokenHash, vault_id: vaultId, user_id: userId, expires_at: expiresAt };
      await db.insertInto('login_links').values(row).execute();
    },
    find: async (tokenHash) =>
      toLink(
        await db.selectFrom('login_links').selectAll().where('token_hash', '=', tokenHash).executeTakeFirst(),
      ),
    take: async (tokenHash) =>
      toLink(
        await db
          .deleteFrom('login_links')
          .where('token_hash', '=', tokenHash)
          .returningAll()
          .executeTakeFirst(),
      ),
    removeOfUser: async (userId) => {
      await db.deleteFrom('login_links').where('user_id', '=', userId).execute();
    },
    removeExpired: async (now) => {
      await db.deleteFrom('login_links').where('expires_at', '<=', now).execute();
    },
  };
}

function toLink(row: Selectable<Schema['login_links']> | undefined): LoginLink | undefined {
  return row && { vaultId: row.vault_id, userId: row.user_id, expiresAt: row.expires_at };
}
