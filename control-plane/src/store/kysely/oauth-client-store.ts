import type { Kysely } from 'kysely';
import type { OauthClientStore } from '../../core/oauth-client.ts';
import type { Schema } from '../schema.ts';
import { first, run } from './queries.ts';
import { WAITING_CLIENTS, evictWaiting, rowBytes } from './waiting-rows.ts';

export function createOauthClientStore(db: Kysely<Schema>): OauthClientStore {
  return {
    add: ({ id, name, uri, redirectUris, createdAt }, addressGroup) => {
      const texts = JSON.stringify(redirectUris);
      const row = {
        id,
        name,
        client_uri: uri,
        redirect_uris: texts,
        created_at: createdAt,
        last_used_at: createdAt,
        address_group: addressGroup,
        bytes: rowBytes(name, uri, texts, addressGroup),
      };
      return run(db.insertInto('oauth_clients').values(row));
    },
    find: (id) =>
      first(
        db.selectFrom('oauth_clients').selectAll().where('id', '=', id),
        ({ name, client_uri, redirect_uris, created_at }) => ({
          id,
          name,
          uri: client_uri ?? undefined,
          redirectUris: JSON.parse(redirect_uris) as readonly string[],
          createdAt: created_at,
        }),
      ),
    touch: (id, usedAt, notSince) =>
      run(
        db
          .updateTable('oauth_clients')
          .set({ last_used_at: usedAt })
          .where('id', '=', id)
          .where((eb) =>
            eb.or([eb('last_used_at', '<=', notSince), eb('last_used_at', '=', eb.ref('created_at'))]),
          ),
      ),
    removeUnused: async ({ lastUsedAt, neverUsedSince }) => {
      const remove = db.deleteFrom('oauth_clients');
      await run(remove.where('last_used_at', '<=', lastUsedAt));
      await run(
        remove.where('last_used_at', '<=', neverUsedSince).whereRef('last_used_at', '=', 'created_at'),
      );
    },
    noteAsked: (id, at) =>
      run(
        db
          .updateTable('oauth_clients')
          .set({ asked_at: at })
          .where('id', '=', id)
          .whereRef('last_used_at', '=', 'created_at'),
      ),
    evictNeverUsed: (bounds) => evictWaiting(db, WAITING_CLIENTS, bounds),
  };
}
