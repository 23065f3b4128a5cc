import type { Kysely, Selectable } from 'kysely';
import type { OauthClientStore, RegisteredClient } from '../../core/oauth-client.ts';
import type { Schema } from '../schema/schema.ts';
import { WAITING_CLIENTS, evictWaiting, rowBytes } from './waiting-rows.ts';

export function createOauthClientStore(db: Kysely<Schema>): OauthClientStore {
  return {
    add: async ({ id, name, uri, redirectUris, createdAt }, addressGroup) => {
      const texts = JSON.stringify(redirectUris);
      const row: Row = {
        id,
        name,
        client_uri: uri ?? null,
        redirect_uris: texts,
        created_at: createdAt,
        last_used_at: createdAt,
        address_group: addressGroup,
        bytes: rowBytes(name, uri, texts, addressGroup),
        asked_at: null,
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
    noteAsked: async (id, at) => {
      await db
        .updateTable('oauth_clients')
        .set({ asked_at: at })
        .where('id', '=', id)
        .whereRef('last_used_at', '=', 'created_at')
        .execute();
    },
    evictNeverUsed: (bounds) => evictWaiting(db, WAITING_CLIENTS, bounds),
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
