import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import type { KeyDerivation, MasterKeyEntry, MasterKeyStore } from '../vault/master-key.ts';

interface Row {
  readonly id: string;
  readonly state: 'current' | 'next';
  readonly check_value: Buffer;
  readonly kdf: string | null;
  readonly link: Buffer | null;
}

const SELECT = 'SELECT id, state, check_value, kdf, link FROM master_keys ORDER BY state';

/** Entries of master keys in table `master_keys`. */
export function createMasterKeyStore(db: SqliteDatabase): MasterKeyStore {
  const select = db.prepare<[], Row>(SELECT);
  const insert = db.prepare(
    'INSERT INTO master_keys (id, state, check_value, kdf, link) VALUES (?, ?, ?, ?, ?)',
  );
  const removeCurrent = db.prepare(`DELETE FROM master_keys WHERE state = 'current'`);
  const promote = db.prepare(`UPDATE master_keys SET state = 'current' WHERE state = 'next'`);
  const unlink = db.prepare('UPDATE master_keys SET link = NULL WHERE id = ?');
  return {
    list: () => select.all().map(toEntry),
    add: ({ id, state, checkValue, derivation, link }) => {
      const kdf = derivation === undefined ? null : JSON.stringify(derivation);
      insert.run(id, state, checkValue, kdf, link ?? null);
    },
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

function toEntry(row: Row): MasterKeyEntry {
  return {
    id: row.id,
    state: row.state,
    checkValue: row.check_value,
    derivation: row.kdf === null ? undefined : (JSON.parse(row.kdf) as KeyDerivation),
    link: row.link ?? undefined,
  };
}
