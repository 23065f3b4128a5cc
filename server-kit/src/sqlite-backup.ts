import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { encryptFile } from './backup-encryption.ts';
import { type BackupSeal, sealBackup } from './backup-file.ts';
import { type SqliteDatabase, holdLock } from './sqlite.ts';

/** All that are left: between two steps, a commit of a serve would begin the copy anew. */
const ALL_PAGES = 0x7fff_ffff;

/**
 * Writes a consistent copy of a live database, authenticated as a whole (see backup-file.ts), to a new file of mode 0600,
 * while a server runs. The file gets its name when it is whole, verified and on the disk; what a killed backup left, the
 * next one of this database or this name removes.
 *
 * @param options.recipients of age, to which it is encrypted; then the plain copy is made beside the database and never in the
 *   folder of the backups
 * @throws Error when the file exists, since a backup never overwrites another, or another backup is being made
 */
export async function backupSqlite(
  db: SqliteDatabase,
  file: string,
  { recipients = [], ...seal }: BackupSeal & { readonly recipients?: readonly string[] },
): Promise<void> {
  mustBeFree(file);
  const partial = `${file}.partial`;
  const plain = recipients.length === 0 ? partial : `${db.name}.backup`;
  const lock = holdLock(
    `${db.name}.backup-lock`,
    () => new Error(`another backup of ${db.name} is being made: run this again when it has ended`),
  );
  try {
    for (const path of [partial, plain]) removeDatabase(path);
    closeSync(openSync(plain, 'wx', 0o600));
    await db.backup(plain, { progress: () => ALL_PAGES });
    mustBeIntact(plain);
    await sealBackup(plain, seal);
    if (plain !== partial) await encryptFile(plain, partial, recipients);
    mustBeFree(file);
    renameSync(partial, file);
    syncFolder(dirname(file));
  } finally {
    for (const path of [partial, plain]) removeDatabase(path);
    lock.release();
  }
}

/** What an operator is told of a backup. */
export const wroteBackup = (file: string, recipients: readonly string[]): string =>
  recipients.length === 0
    ? `Wrote ${file}. It opens with the present root key only: keep that key too.`
    : `Wrote ${file}, encrypted. It opens with the identity of a recipient and the present root key: keep both.`;

function mustBeFree(file: string): void {
  if (existsSync(file)) throw new Error(`${file} exists already: name a new file`);
}

function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true });
}

function mustBeIntact(copy: string): void {
  const db = new Database(copy, { fileMustExist: true });
  try {
    if (db.pragma('integrity_check', { simple: true }) !== 'ok')
      throw new Error(
        'SQLite finds the database inconsistent, so that no backup was made: restore the last good one',
      );
  } finally {
    db.close();
  }
}

function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  fsyncSync(folder);
  closeSync(folder);
}
