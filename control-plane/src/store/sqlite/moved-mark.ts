import type { SqliteDatabase } from '@svault/server-kit/sqlite';

/** A table that only a moved database has, so that the mark is committed and backed up with what it is about. */
export const MOVED_MARK = 'moved_to';

/** This file's rows are in PostgreSQL now: two services on the two copies would contradict each other at the webhook. */
export class DatabaseMoved extends Error {
  constructor(path: string, place: string) {
    super(
      `${path} was moved to PostgreSQL at ${place}: set SV_DATABASE_URL to that database. If the move was interrupted, run ` +
        'move-to-postgres again. To serve on this file after all, run undo-move',
    );
    this.name = 'DatabaseMoved';
  }
}

/** Where the database was moved to, without user and password; undefined for one that was not. */
export function movedTo(sqlite: SqliteDatabase): string | undefined {
  if (!isThere(sqlite)) return undefined;
  return sqlite.prepare<[], string>(`SELECT place FROM ${MOVED_MARK}`).pluck().get();
}

/** Within the caller's transaction. */
export function markMoved(sqlite: SqliteDatabase, place: string): void {
  if (isThere(sqlite)) return;
  sqlite.exec(`CREATE TABLE ${MOVED_MARK} (place TEXT NOT NULL)`);
  sqlite.prepare(`INSERT INTO ${MOVED_MARK} VALUES (?)`).run(place);
}

export const removeMovedMark = (sqlite: SqliteDatabase): void => void sqlite.exec(`DROP TABLE ${MOVED_MARK}`);

const isThere = (sqlite: SqliteDatabase): boolean =>
  sqlite.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(MOVED_MARK) !== undefined;
