import { makePrivateFolder } from '@svault/server-kit/private-folder';
import { type SqliteDatabase, holdServeLock, openSqlite, openUnchanged } from '@svault/server-kit/sqlite';
import { closeSync, existsSync, fsyncSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { MasterKeyEntry } from '../vault/master-key.ts';
import { readMasterKeys } from './master-key-store.ts';
import { MIGRATIONS } from './schema.ts';

/** The one database of a data folder. */
export const vaultPath = (dataDir: string): string => join(dataDir, 'webhook.db');

/**
 * Reads which root keys a database asks for and leaves every byte unchanged, so that a wrong key changes nothing.
 *
 * @returns no entries if there is no database yet
 */
export function peekMasterKeys(path: string): readonly MasterKeyEntry[] {
  if (!existsSync(path)) return [];
  const db = openUnchanged(path);
  try {
    return readMasterKeys(db);
  } finally {
    db.close();
  }
}

/** Only its owner may look inside. */
const makeDataDir = (dataDir: string): void => makePrivateFolder(dataDir, 'SV_WEBHOOK_DATA_DIR');

/**
 * Takes the lock of the one serve of a data folder, and makes the folder if there is none.
 *
 * @returns gives it back
 * @throws AlreadyServing
 */
export function lockVault(path: string, dataDir: string): () => void {
  makeDataDir(dataDir);
  const lock = holdServeLock(path);
  return () => lock.release();
}

/** Opens the database for reading and writing, and makes folder and tables if there are none. */
export function openVaultFile(path: string, dataDir: string): SqliteDatabase {
  makeDataDir(dataDir);
  // Created here and not by SQLite, for its mode: other users cannot read it even in an open folder. The WAL inherits
  // it.
  closeSync(openSync(path, 'a', 0o600));
  const db = openSqlite(path, { migrations: MIGRATIONS });
  // Overwrites purged rows.
  db.pragma('secure_delete = ON');
  return db;
}

const RESTORING = 'restoring.db';

/**
 * Puts a backup into an empty data folder. The copy gets its final name as the last step, so that a
 * kill or a refusal leaves no half vault behind; what a killed restore left is no obstacle.
 *
 * @param makeCopy writes the database to a path in the folder, changes what a restore changes, and closes it again
 * @throws Error if the folder is not empty
 */
export async function placeRestoredFile(
  dataDir: string,
  makeCopy: (path: string) => Promise<void>,
): Promise<void> {
  const made = !existsSync(dataDir);
  if (!made && readdirSync(dataDir).some((name) => !name.startsWith(RESTORING)))
    throw new Error(`${dataDir} is not empty: a backup is restored into an empty folder`);
  makeDataDir(dataDir);
  const copy = join(dataDir, RESTORING);
  const removeCopy = (): void => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(copy + suffix, { force: true });
  };
  // The log of another copy would be taken for that of this one.
  removeCopy();
  try {
    await makeCopy(copy);
    syncToDisk(copy);
    renameSync(copy, vaultPath(dataDir));
    syncToDisk(dataDir);
  } catch (error) {
    removeCopy();
    if (made) rmSync(dataDir, { recursive: true });
    throw error;
  }
}

function syncToDisk(path: string): void {
  const handle = openSync(path, 'r');
  fsyncSync(handle);
  closeSync(handle);
}
