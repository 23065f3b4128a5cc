import Database from 'better-sqlite3';

export type SqliteDatabase = Database.Database;

/** One step of a schema. Append-only and additive: the former program still runs on the new schema. */
export interface Migration {
  /** Ascending; never reused. */
  readonly id: number;
  readonly name: string;
  readonly sql: string;
}

/** The file was written by a newer program. Nothing was changed. */
export class NewerSchema extends Error {
  constructor(path: string, found: number, known: number) {
    super(
      `${path} has schema ${found}, this program knows up to ${known}: run the newer program, or restore an older backup`,
    );
    this.name = 'NewerSchema';
  }
}

const BUSY_TIMEOUT_MS = 5_000;

/**
 * Opens a SQLite file for one process's reads and writes.
 *
 * `synchronous=FULL` with WAL: a commit survives a power cut. A worker makes the checkpoints, which would set the tail
 * latency here (see checkpoint.ts); but while writers never pause, only a writer can restart the log, so past 32 MiB it
 * finishes the worker's rest.
 *
 * Queries of every request bind a value in a subquery, `= (SELECT ?)`: this SQLite is built with STAT4 and would otherwise
 * plan the query again for each value, at several times its cost.
 * @throws NewerSchema when the file's schema is ahead of `migrations`
 */
export function openSqlite(
  path: string,
  options: { readonly migrations: readonly Migration[] },
): SqliteDatabase {
  const db = openPlain(path);
  try {
    migrate(db, path, options.migrations);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Opens a file with the pragmas of every connection, without migrating it. */
export function openPlain(path: string): SqliteDatabase {
  const db = new Database(path, { timeout: BUSY_TIMEOUT_MS });
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  // On macOS alone: without it, a sync leaves the data in the drive's cache.
  db.pragma('fullfsync = ON');
  db.pragma('foreign_keys = ON');
  db.pragma('trusted_schema = OFF');
  db.pragma('wal_autocheckpoint = 8192');
  return db;
}

/**
 * Moves SQLite's log into the database file, before a server's first commit. After a failed sync the kernel may show a log
 * that is not on the disk, and a commit that follows it there would be lost with it.
 */
export function emptyLog(db: SqliteDatabase): void {
  try {
    db.pragma('wal_checkpoint(TRUNCATE)');
  } catch (error) {
    // A full disk is no reason not to start: reads go on, and writes say so.
    if (!isDiskFull(error)) throw error;
  }
}

function migrate(db: SqliteDatabase, path: string, migrations: readonly Migration[]): void {
  const ordered = [...migrations].sort((a, b) => a.id - b.id);
  db.exec('CREATE TABLE IF NOT EXISTS schema_migrations (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT');
  const applied = new Set(db.prepare<[], number>('SELECT id FROM schema_migrations').pluck().all());
  const newest = Math.max(0, ...applied);
  const known = ordered.at(-1)?.id ?? 0;
  if (newest > known) throw new NewerSchema(path, newest, known);
  const record = db.prepare('INSERT INTO schema_migrations (id, name) VALUES (?, ?)');
  for (const { id, name, sql } of ordered) {
    // Checked again inside the write transaction: another process may have run it.
    db.transaction(() => {
      if (db.prepare('SELECT 1 FROM schema_migrations WHERE id = ?').get(id) !== undefined) return;
      db.exec(sql);
      record.run(id, name);
    }).immediate();
  }
}

const FAILURES = [
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_BUSY',
  'SQLITE_LOCKED',
  'SQLITE_CANTOPEN',
  'SQLITE_READONLY',
];

/** Whether the database could not take the work now, as opposed to a programming error. */
export function isStorageFailure(error: unknown): boolean {
  if (!(error instanceof Database.SqliteError)) return false;
  return FAILURES.some((code) => error.code === code || error.code.startsWith(`${code}_`));
}

/** Whether the database found no room on its disk. */
export const isDiskFull = (error: unknown): boolean =>
  error instanceof Database.SqliteError && error.code === 'SQLITE_FULL';

/** Whether another process held the file for longer than the busy timeout. */
export function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY');
}

/** Another process serves on the same file. */
export class AlreadyServing extends Error {
  constructor(path: string) {
    super(`another process already serves on ${path}: stop it first, or use another file`);
    this.name = 'AlreadyServing';
  }
}

/**
 * Locks a database file for one `serve`, until released or until the process ends.
 *
 * It is SQLite's exclusive lock on a side file. The kernel drops it with the process, so a `kill -9` leaves nothing to clean
 * up. Other subcommands do not take it and work while `serve` runs.
 * @throws AlreadyServing at once when another process has it
 */
export function holdServeLock(databasePath: string): { release(): void } {
  const lock = new Database(`${databasePath}.serve-lock`, { timeout: 0 });
  try {
    lock.pragma('journal_mode = DELETE');
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (isBusy(error)) throw new AlreadyServing(databasePath);
    throw error;
  }
  return { release: () => void lock.close() };
}
