import { copyFileSync, readFileSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { openPlain, type SqliteDatabase } from '@svault/server-kit/sqlite';
import { tempDir } from '@svault/test-kit/temp-dir';

export const databasePath = ({ dir }: { readonly dir: string }): string => join(dir, 'control-plane.db');

/** Looks into a database beside the program that serves on it. */
export function inDatabase<T>(path: string, work: (db: SqliteDatabase) => T): T {
  const db = openPlain(path);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/** The database's file and what SQLite keeps beside it: write-ahead log, shared memory, locks. */
const filesOf = (path: string): string[] =>
  readdirSync(dirname(path))
    .filter((name) => name.startsWith(basename(path)))
    .map((name) => join(dirname(path), name));

/** Everything that is written there, as it lies on the disk. */
export const databaseBytes = (path: string): Buffer =>
  Buffer.concat(filesOf(path).map((file) => readFileSync(file)));

/** Looks into a copy of the files as they lie there now: what is found after a crash at this moment. */
export function inCopy<T>(path: string, work: (db: SqliteDatabase) => T): T {
  const place = tempDir();
  try {
    // Without the index of the log, which belongs to living processes; SQLite makes it anew.
    for (const file of filesOf(path))
      if (!file.endsWith('-shm')) copyFileSync(file, join(place.path, basename(file)));
    return inDatabase(join(place.path, basename(path)), work);
  } finally {
    place.remove();
  }
}
