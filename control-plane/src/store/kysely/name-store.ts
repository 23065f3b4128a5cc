import { type Id, sha256, toHex, utf8 } from '@svault/shared';
import type { Kysely } from 'kysely';
import { type NameStore, nameKey } from '../../core/name.ts';
import type { Schema } from '../schema.ts';
import { ofVault, rowsOfChunks } from './queries.ts';

/** A hash, because an index takes no text of any length. */
export const nameHash = (name: string): string => toHex(sha256(utf8(nameKey(name))));

/** What an index holds unique, and what lists are searched by. */
export const nameColumns = (name: string): { readonly name_hash: string; readonly name_key: string } => ({
  name_hash: nameHash(name),
  name_key: nameKey(name),
});

export function createNameStore(db: Kysely<Schema>): NameStore {
  const named = (table: 'agents' | 'proxies' | 'admin_keys', vaultId: Id<'vlt'>, ids: readonly string[]) =>
    db
      .selectFrom(table)
      .select(['id', 'name'])
      .where(ofVault(vaultId))
      .where('id', 'in', ids as Id<'agt'>[])
      .$castTo<{ id: string; name: string }>();
  const users = (vaultId: Id<'vlt'>, ids: readonly string[]) =>
    db
      .selectFrom('users')
      .select(['id', 'email as name'])
      .where(ofVault(vaultId))
      .where('deleted_at', 'is', null)
      .where('id', 'in', ids as Id<'usr'>[])
      .$castTo<{ id: string; name: string }>();
  return {
    of: async (vaultId, ids) => {
      const rows = await rowsOfChunks([...new Set(ids)], (chunk) =>
        named('agents', vaultId, chunk)
          .unionAll(named('proxies', vaultId, chunk))
          .unionAll(named('admin_keys', vaultId, chunk))
          .unionAll(users(vaultId, chunk)),
      );
      return new Map(rows.map(({ id, name }) => [id, name]));
    },
  };
}
