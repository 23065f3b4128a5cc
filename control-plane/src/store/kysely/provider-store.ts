import type { Kysely, Selectable } from 'kysely';
import { type Id, sha256, toHex, utf8 } from '@svault/shared';
import { pageOf } from '../../core/paging.ts';
import type { ProviderStore, StoredProvider } from '../../core/provider.ts';
import { afterKey, countUpTo } from './pagination.ts';
import type { Schema } from '../schema/schema.ts';

export function createProviderStore(db: Kysely<Schema>): ProviderStore {
  return {
    add: async (provider) => {
      const { numInsertedOrUpdatedRows } = await db
        .insertInto('providers')
        .values(toRow(provider))
        .onConflict((conflict) => conflict.columns(['vault_id', 'target_hash']).doNothing())
        .executeTakeFirstOrThrow();
      return numInsertedOrUpdatedRows === 1n;
    },
    get: async (vaultId, id) => {
      const row = await db
        .selectFrom('providers')
        .selectAll()
        .where('id', '=', id as Id<'prv'>)
        .where('vault_id', '=', vaultId)
        .executeTakeFirst();
      return row && toProvider(row);
    },
    find: async (vaultId, tokenUrl, clientId) => {
      const row = await db
        .selectFrom('providers')
        .selectAll()
        .where('vault_id', '=', vaultId)
        .where('target_hash', '=', targetHash(tokenUrl, clientId))
        .executeTakeFirst();
      // Compared here and not by the database, which rejects texts with a NUL.
      return row?.token_url === tokenUrl && row.client_id === clientId ? toProvider(row) : undefined;
    },
    list: async (vaultId, page) => {
      const rows = await db
        .selectFrom('providers')
        .selectAll()
        .where('vault_id', '=', vaultId)
        .where(afterKey(['created_at', 'id'], page))
        .orderBy('created_at')
        .orderBy('id')
        .limit(page.limit + 1)
        .execute();
      return pageOf(rows.map(toProvider), page.limit, ({ createdAt, id }) => [createdAt, id]);
    },
    count: (vaultId, atMost) =>
      countUpTo(db, db.selectFrom('providers').where('vault_id', '=', vaultId), atMost),
    replace: async (provider) => {
      const { id, vault_id: vaultId, created_at: _stays, ...changed } = toRow(provider);
      await db
        .updateTable('providers')
        .set(changed)
        .where('id', '=', id)
        .where('vault_id', '=', vaultId)
        .execute();
    },
    remove: async (vaultId, id) => {
      const { numDeletedRows } = await db
        .deleteFrom('providers')
        .where('id', '=', id)
        .where('vault_id', '=', vaultId)
        .executeTakeFirstOrThrow();
      return numDeletedRows > 0n;
    },
  };
}

type Row = Selectable<Schema['providers']>;

const targetHash = (tokenUrl: string, clientId: string): string =>
  toHex(sha256(utf8(JSON.stringify([tokenUrl, clientId]))));

function toRow(provider: StoredProvider): Row {
  const { tokenUrl, clientId } = provider;
  return {
    id: provider.id,
    vault_id: provider.vaultId,
    name: provider.name,
    token_url: tokenUrl,
    client_id: clientId,
    target_hash: targetHash(tokenUrl, clientId),
    auth_method: provider.authMethod,
    algorithm: provider.algorithm ?? null,
    key_id: provider.keyId ?? null,
    secret_wrapped: provider.secretWrapped,
    created_at: provider.createdAt,
    updated_at: provider.updatedAt,
  };
}

const toProvider = (row: Row): StoredProvider => ({
  id: row.id,
  vaultId: row.vault_id,
  name: row.name,
  tokenUrl: row.token_url,
  clientId: row.client_id,
  authMethod: row.auth_method,
  algorithm: row.algorithm ?? undefined,
  keyId: row.key_id ?? undefined,
  secretWrapped: row.secret_wrapped,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});
