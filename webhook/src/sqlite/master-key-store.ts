import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import type { KeyDerivation, MasterKeyEntry, MasterKeyStore } from '../vault/master-key.ts';

type Row = Omit<MasterKeyEntry, 'derivation'> & { readonly kdf: string | null };

const SELECT = 'SELECT id, state, check_value AS checkValue, kdf, link FROM master_keys ORDER BY state';

/** Entries of root keys in table `master_keys`. */
export function createMasterKeyStore(db: SqliteDatabase): MasterKeyStore {
  const select = db.prepare<[], Row>(SELECT);
  const insert = db.prepare<Row>(
    'INSERT INTO master_keys (id, state, check_value, kdf, link) VALUES (@id, @state, @checkValue, @kdf, @link)',
  );
  const removeCurrent = db.prepare(`DELETE FROM master_keys WHERE state = 'current'`);
  const promote = db.prepare(`UPDATE master_keys SET state = 'current' WHERE state = 'next'`);
  const unlink = db.prepare('UPDATE master_keys SET link = NULL WHERE id = ?');
  return {
    list: () => select.all().map(toEntry),
    add: ({ derivation, ...entry }) =>
      void insert.run({ ...entry, kdf: derivation === undefined ? null : JSON.stringify(derivation) }),
    promoteNext: () => {
      removeCurrent.run();
      promote.run();
    },
    clearLink: (id) => void unlink.run(id),
  };
}

/** The entries of a file that is only read; none if the schema has no such table yet. */
export function readMasterKeys(db: SqliteDatabase): readonly MasterKeyEntry[] {
  const known = db.prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'master_keys'`).get();
  return known === undefined ? [] : db.prepare<[], Row>(SELECT).all().map(toEntry);
}

const toEntry = ({ kdf, ...entry }: Row): MasterKeyEntry => ({
  ...entry,
  derivation: kdf === null ? undefined : (JSON.parse(kdf) as KeyDerivation),
});
