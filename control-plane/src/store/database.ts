import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { Kysely } from 'kysely';
import { aeadReady } from '@svault/server-kit/aead';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type SqliteDatabase, openPlain } from '@svault/server-kit/sqlite';
import { sqliteDialect } from './driver.ts';
import { migrate } from './migrate.ts';
import type { Schema } from './schema.ts';
import { type OperatorKeys, makeSealingKey, openSealingKey } from './sealing-key.ts';

export interface Database {
  /** For the credential path, whose queries are prepared once and whose writes are grouped. */
  readonly sqlite: SqliteDatabase;
  readonly kysely: Kysely<Schema>;
  /** Wraps this database's secrets. */
  readonly masterKeys: MasterKeys;
  /** Rejects where the file cannot be read; costs the same however much is in it. */
  answers(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens a SQLite file, making it and its folder where they are missing, and brings its schema up to date.
 *
 * @throws WrongMasterKey before anything is changed; NewerSchema when a newer program wrote the file
 */
export async function openDatabase(path: string, operatorKeys: OperatorKeys): Promise<Database> {
  await aeadReady();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // Made by us and not by SQLite, for its mode: nobody else on the machine reads it. The log beside it inherits that.
  closeSync(openSync(path, 'a', 0o600));
  const sqlite = openPlain(path);
  const kysely = new Kysely<Schema>({ dialect: sqliteDialect(sqlite) });
  const close = async (): Promise<void> => {
    await kysely.destroy();
    sqlite.close();
  };
  try {
    const known = (await hasSealingKey(kysely)) ? await openSealingKey(kysely, operatorKeys) : undefined;
    await migrate(kysely);
    const masterKeys = known ?? (await makeSealingKey(kysely, operatorKeys));
    const answers = async (): Promise<void> =>
      void (await kysely.selectFrom('schema_migrations').select('id').limit(1).execute());
    return { sqlite, kysely, masterKeys, answers, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function hasSealingKey(db: Kysely<Schema>): Promise<boolean> {
  const tables = await db.introspection.getTables();
  return tables.some(({ name }) => name === 'sealing_keys');
}
