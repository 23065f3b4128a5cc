import { closeSync, existsSync, fsyncSync, openSync, rmSync } from 'node:fs';
import type { SqliteDatabase } from './sqlite.ts';

/**
 * Writes a consistent copy of a live database to a new file of mode 0600, beside a running server.
 *
 * @throws Error when the file exists: a backup never overwrites another
 */
export async function backupSqlite(db: SqliteDatabase, file: string): Promise<void> {
  if (existsSync(file)) throw new Error(`${file} exists already: name a new file`);
  closeSync(openSync(file, 'wx', 0o600));
  try {
    await db.backup(file);
    const handle = openSync(file, 'r');
    fsyncSync(handle);
    closeSync(handle);
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  }
}
