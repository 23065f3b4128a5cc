import type { Kysely } from 'kysely';
import type { AdminKeyStore } from '../../core/admin-key.ts';
import type { Schema } from '../schema.ts';
import { all, changesRow, first, pageBy, run } from './queries.ts';
import { toEntity, toRow } from './rows.ts';

/** Without the hash. */
const ADMIN_KEY = [
  'admin_keys.id',
  'admin_keys.vault_id',
  'user_id',
  'name',
  'origin',
  'key_prefix',
  'admin_keys.created_at',
  'last_used_at',
] as const;

export function createAdminKeyStore(db: Kysely<Schema>): AdminKeyStore {
  const keys = db.selectFrom('admin_keys').select(ADMIN_KEY);
  const withUser = db
    .selectFrom('admin_keys')
    .innerJoin('users', 'users.id', 'admin_keys.user_id')
    .select('users.role')
    .where('users.deleted_at', 'is', null);
  return {
    add: (key) => run(db.insertInto('admin_keys').values(toRow(key))),
    findByHash: (keyHash) => first(withUser.select(ADMIN_KEY).where('key_hash', '=', keyHash), toEntity),
    roleOf: (vaultId, id) =>
      first(
        withUser.where('admin_keys.vault_id', '=', vaultId).where('admin_keys.id', '=', id),
        ({ role }) => role,
      ),
    list: (vaultId, page) =>
      pageBy(['created_at', 'id'], keys.where('vault_id', '=', vaultId), page, toEntity),
    remove: (vaultId, id) =>
      changesRow(db.deleteFrom('admin_keys').where('vault_id', '=', vaultId).where('id', '=', id)),
    idsOfUser: (userId) =>
      all(db.selectFrom('admin_keys').select('id').where('user_id', '=', userId), ({ id }) => id),
    findFromSettings: (userId) =>
      first(keys.select('key_hash').where('user_id', '=', userId).where('origin', '=', 'settings'), toEntity),
    touch: (id, usedAt) =>
      run(db.updateTable('admin_keys').set({ last_used_at: usedAt }).where('id', '=', id)),
  };
}
