import { existsSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { type AppliedStep, type Step, compatibleFromOf, planSchema, toAppliedStep } from './schema-steps.ts';
import { VERSION } from './version.ts';

export type SqliteDatabase = Database.Database;

/** One step of a SQLite schema; released ones do not change. */
export type Migration = Step & { readonly sql: string };

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
 * @throws NewerSchema before anything is changed
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
  const { pending } = planSchema(path, appliedSteps(db), migrations);
  if (pending.length === 0) return;
  db.transaction(() => makeMigrationsTable(db)).immediate();
  const record = db.prepare(
    'INSERT INTO schema_migrations (id, name, compatible_from, applied_by) VALUES (?, ?, ?, ?)',
  );
  for (const step of pending) {
    // Checked again inside the write transaction: another process may have run it.
    db.transaction(() => {
      if (db.prepare('SELECT 1 FROM schema_migrations WHERE id = ?').get(step.id) !== undefined) return;
      db.exec(step.sql);
      record.run(step.id, step.name, compatibleFromOf(step), VERSION);
    }).immediate();
  }
}

/** Databases made before 0.1.0 lack the last two columns. */
function makeMigrationsTable(db: SqliteDatabase): void {
  db.exec(`CREATE TABLE IF NOT EXISTS schema_migrations (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, compatible_from INTEGER, applied_by TEXT) STRICT`);
  const columns = db.prepare("SELECT name FROM pragma_table_info('schema_migrations')").pluck().all();
  for (const [name, type] of Object.entries({ compatible_from: 'INTEGER', applied_by: 'TEXT' }))
    if (!columns.includes(name)) db.exec(`ALTER TABLE schema_migrations ADD COLUMN ${name} ${type}`);
}

function appliedSteps(db: SqliteDatabase): AppliedStep[] {
  const table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'";
  if (db.prepare(table).get() === undefined) return [];
  const rows = db.prepare<[], Record<string, unknown>>('SELECT * FROM schema_migrations ORDER BY id').all();
  return rows.map(toAppliedStep);
}

/**
 * Reads which steps a file has, and leaves every byte unchanged.
 *
 * @returns undefined if there is no file
 */
export function readAppliedSteps(path: string): AppliedStep[] | undefined {
  if (!existsSync(path)) return undefined;
  const db = openUnchanged(path);
  try {
    return appliedSteps(db);
  } finally {
    db.close();
  }
}

/** Opens a file that is there, to read it and leave every byte unchanged. */
export function openUnchanged(path: string): SqliteDatabase {
  // Writable, the last one to close removes its own -shm and empty -wal again; but it would also move a WAL that a
  // killed process left into the database, so that one is only read.
  const leftover = existsSync(`${path}-wal`) && statSync(`${path}-wal`).size > 0;
  return new Database(path, { readonly: leftover, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
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
 * Locks a database file for one `serve`, until released or until the process ends. Other subcommands do not take it and work
 * while `serve` runs.
 * @throws AlreadyServing at once when another process has it
 */
export const holdServeLock = (databasePath: string): { release(): void } =>
  holdLock(`${databasePath}.serve-lock`, () => new AlreadyServing(databasePath));

/**
 * SQLite's exclusive lock on a side file. The kernel drops it with the process, so a `kill -9` leaves nothing to clean up.
 * @param busy what is thrown at once when another process has it
 */
export function holdLock(path: string, busy: () => Error): { release(): void } {
  const lock = new Database(path, { timeout: 0 });
  try {
    lock.pragma('journal_mode = DELETE');
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (isBusy(error)) throw busy();
    throw error;
  }
  return { release: () => void lock.close() };
}
