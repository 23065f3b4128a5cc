import { closeSync, existsSync, openSync, rmSync } from 'node:fs';
import { type BackupSeal, sealBackup } from './backup-file.ts';
import type { SqliteDatabase } from './sqlite.ts';

/**
 * Writes a consistent copy of a live database, authenticated as a whole (see backup-file.ts), to a new file of mode 0600,
 * while a server runs.
 * @throws Error when the file exists: a backup never overwrites another
 */
export async function backupSqlite(db: SqliteDatabase, file: string, seal: BackupSeal): Promise<void> {
  if (existsSync(file)) throw new Error(`${file} exists already: name a new file`);
  closeSync(openSync(file, 'wx', 0o600));
  try {
    await db.backup(file);
    await sealBackup(file, seal);
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  }
}
