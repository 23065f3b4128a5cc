import type { Kysely } from 'kysely';
import { type Id, sha256, toHex, utf8 } from '@svault/shared';
import type { ProviderStore, StoredProvider } from '../../core/provider.ts';
import type { Schema } from '../schema.ts';
import { changesRow, countUpTo, first, pageBy, run } from './queries.ts';
import { toEntity, toRow } from './rows.ts';

export function createProviderStore(db: Kysely<Schema>): ProviderStore {
  const providers = (vaultId: Id<'vlt'>) =>
    db.selectFrom('providers').selectAll().where('vault_id', '=', vaultId);
  return {
    add: (provider) =>
      changesRow(
        db
          .insertInto('providers')
          .values(rowOf(provider))
          .onConflict((conflict) => conflict.columns(['vault_id', 'target_hash']).doNothing()),
      ),
    get: (vaultId, id) => first(providers(vaultId).where('id', '=', id as Id<'prv'>), toEntity),
    find: async (vaultId, tokenUrl, clientId) => {
      const sameHash = providers(vaultId).where('target_hash', '=', targetHash(tokenUrl, clientId));
      const found = await first(sameHash, toEntity);
      // Compared here and not by the database, which rejects texts with a NUL.
      return found?.tokenUrl === tokenUrl && found.clientId === clientId ? found : undefined;
    },
    list: (vaultId, page) => pageBy(['created_at', 'id'], providers(vaultId), page, toEntity),
    count: (vaultId, atMost) =>
      countUpTo(db, db.selectFrom('providers').where('vault_id', '=', vaultId), atMost),
    replace: (provider) => {
      const { id, vault_id: vaultId, created_at: _stays, ...changed } = rowOf(provider);
      return run(
        db.updateTable('providers').set(changed).where('id', '=', id).where('vault_id', '=', vaultId),
      );
    },
    remove: (vaultId, id) =>
      changesRow(db.deleteFrom('providers').where('id', '=', id).where('vault_id', '=', vaultId)),
  };
}

const targetHash = (tokenUrl: string, clientId: string): string =>
  toHex(sha256(utf8(JSON.stringify([tokenUrl, clientId]))));

const rowOf = (provider: StoredProvider) => ({
  ...toRow(provider),
  target_hash: targetHash(provider.tokenUrl, provider.clientId),
});
