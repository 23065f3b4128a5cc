import type { AppliedStep } from '@svault/server-kit/schema-steps';
import { readAppliedSteps } from '@svault/server-kit/sqlite';
import { StorageFailure } from '@svault/server-kit/storage-failure';
import type { Database, OpenOptions } from './database.ts';
import type { RootKeys } from './data-encryption-key.ts';
import { DatabaseMoved, movedTo } from './sqlite/moved-mark.ts';
import { openSqliteDatabase } from './sqlite/sqlite-database.ts';
import type { DatabaseAddress } from '../core/database-address.ts';

/**
 * Opens the database of the settings and brings its schema up to date.
 *
 * @throws NoDatabase where a tool finds none; AlreadyServing; DatabaseMoved; WrongMasterKey before anything is changed; NewerSchema when
 *   a newer program wrote it; UnfinishedMove; StorageFailure, with the setting's name, where PostgreSQL does not take the work
 */
export async function openDatabase(
  address: DatabaseAddress,
  rootKeys: RootKeys,
  options: OpenOptions,
): Promise<Database> {
  if (address.kind === 'sqlite') {
    const opened = await openSqliteDatabase(address.path, rootKeys, options);
    const place = movedTo(opened.sqlite);
    if (place === undefined) return opened;
    await opened.close();
    throw new DatabaseMoved(address.path, place);
  }
  // Loaded only where it is used: it makes the start on SQLite slower.
  const { POSTGRES } = await import('./postgres/postgres.ts');
  return POSTGRES.open(address.url, rootKeys, options).catch(namingSetting);
}

/**
 * Reads which steps of the schema a database has, and changes nothing; none where there is no database yet.
 *
 * @throws StorageFailure
 */
export async function readSchema(address: DatabaseAddress): Promise<readonly AppliedStep[]> {
  if (address.kind === 'sqlite') return readAppliedSteps(address.path) ?? [];
  const { POSTGRES } = await import('./postgres/postgres.ts');
  return POSTGRES.readSchema(address.url).catch(namingSetting);
}

function namingSetting(error: unknown): never {
  if (!(error instanceof StorageFailure)) throw error;
  throw new StorageFailure(`the database that SV_DATABASE_URL names cannot be used: ${error.message}`, {
    cause: error,
  });
}
