import type { Kysely, Selectable } from 'kysely';
import type { OauthClientStore, RegisteredClient } from '../oauth-clients/oauth-client-store.ts';
import type { Schema } from './schema.ts';

export function createOauthClientStore(db: Kysely<Schema>): OauthClientStore {
  return {
    add: async ({ id, name, uri, redirectUris, createdAt }) => {
      const row: Row = {
        id,
        name,
        client_uri: uri ?? null,
        redirect_uris: JSON.stringify(redirectUris),
        created_at: createdAt,
        last_used_at: createdAt,
      };
      await db.insertInto('oauth_clients').values(row).execute();
    },
    find: async (id) => {
      const row = await db.selectFrom('oauth_clients').selectAll().where('id', '=', id).executeTakeFirst();
      return row && toClient(row);
    },
    touch: async (id, usedAt, notSince) => {
      await db
        .updateTable('oauth_clients')
        .set({ last_used_at: usedAt })
        .where('id', '=', id)
        .where((eb) =>
          eb.or([eb('last_used_at', '<=', notSince), eb('last_used_at', '=', eb.ref('created_at'))]),
        )
        .execute();
    },
    removeUnused: async ({ lastUsedAt, neverUsedSince }) => {
      await db.deleteFrom('oauth_clients').where('last_used_at', '<=', lastUsedAt).execute();
      await db
        .deleteFrom('oauth_clients')
        .where('last_used_at', '<=', neverUsedSince)
        .whereRef('last_used_at', '=', 'created_at')
        .execute();
    },
    keepLatestNeverUsed: async (most) => {
      const firstTooMany = await db
        .selectFrom('oauth_clients')
        .select('last_used_at')
        .where('last_used_at', '>', '')
        .whereRef('last_used_at', '=', 'created_at')
        .orderBy('last_used_at', 'desc')
        .offset(most)
        .limit(1)
        .executeTakeFirst();
      if (firstTooMany === undefined) return;
      await db
        .deleteFrom('oauth_clients')
        .where('last_used_at', '<=', firstTooMany.last_used_at)
        .whereRef('last_used_at', '=', 'created_at')
        .execute();
    },
  };
}

type Row = Selectable<Schema['oauth_clients']>;

const toClient = (row: Row): RegisteredClient => ({
  id: row.id,
  name: row.name,
  uri: row.client_uri ?? undefined,
  redirectUris: JSON.parse(row.redirect_uris) as readonly string[],
  createdAt: row.created_at,
});
