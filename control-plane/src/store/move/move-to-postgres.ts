import { existsSync } from 'node:fs';
import { silentLogger } from '@svault/server-kit/logger';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type SqliteDatabase, holdServeLock } from '@svault/server-kit/sqlite';
import { StorageFailure } from '@svault/server-kit/storage-failure';
import type { Clock, Id, Secret } from '@svault/shared';
import type { ChainHead } from '@svault/shared/audit-chain';
import { type Kysely, sql } from 'kysely';
import { verifyLog } from '../../audit/verify.ts';
import { type RootKeys, openDataKey } from '../data-encryption-key.ts';
import { NoDatabase } from '../database.ts';
import { createAuditStore } from '../kysely/audit-store.ts';
import { migrate } from '../migrations/migrate.ts';
import { checkServer, inPreparation, placeOf, onOneConnection } from '../postgres/prepare.ts';
import { markFinished, markUnfinished, unfinishedMove } from '../postgres/unfinished-move.ts';
import { postgresEngine } from '../postgres/unit-of-work.ts';
import type { Schema } from '../schema.ts';
import { markMoved, movedTo } from '../sqlite/moved-mark.ts';
import { openSqliteDatabase } from '../sqlite/sqlite-database.ts';
import { compareTable, copyTable } from './copy-table.ts';
import { type CopiedTable, checkTable, quote, tablesOf } from './tables.ts';

export interface MoveOptions {
  /** Of the SQLite file. */
  readonly path: string;
  /** Of the PostgreSQL database. */
  readonly url: Secret;
  readonly rootKeys: RootKeys;
  readonly clock: Clock;
  /** Told now and then how far it is. */
  readonly progress: (line: string) => void;
}

export interface Move {
  /** Of the target, without user and password. */
  readonly place: string;
  /** Undefined where an earlier run finished it. */
  readonly moved:
    | {
        readonly tables: number;
        readonly rows: number;
        /** Of each account's log, verified on the target. */
        readonly logs: readonly {
          readonly vaultId: Id<'vlt'>;
          readonly events: number;
          readonly head: ChainHead;
        }[];
      }
    | undefined;
}

/** Held by the session that copies: a killed one may still be ending when the next begins. */
const MOVE_LOCK = 7_385_218;

/** The server ends the session of a machine that went down, and not one that reads SQLite meanwhile. */
const SESSION = {
  idle_in_transaction_session_timeout: '0',
  tcp_keepalives_idle: '30',
  tcp_keepalives_interval: '10',
};

/** A table with more rows reports its progress, each time that so many are copied. */
const ROWS_PER_REPORT = 100_000;

/**
 * Copies a SQLite database, on which nothing serves, to an empty one of PostgreSQL, and compares every row. What is copied
 * becomes visible in one commit, before which the source is marked as moved: a kill leaves the target without rows and
 * with a mark that keeps `serve` away, or complete. The next run begins again.
 *
 * @throws NoDatabase; AlreadyServing; WrongMasterKey; StorageFailure; Error where a row does not fit, the target is in use
 *   or a log is broken, with both databases as they were
 */
export async function moveToPostgres(options: MoveOptions): Promise<Move> {
  const { path, url, rootKeys, clock } = options;
  if (!existsSync(path)) throw new NoDatabase(path);
  const lock = holdServeLock(path);
  try {
    const source = await openSqliteDatabase(path, rootKeys, { clock, logger: silentLogger, opener: 'tool' });
    try {
      // No subcommand changes anything meanwhile, and every read is of the same state.
      source.sqlite.exec('BEGIN IMMEDIATE');
      const moved = await onOneConnection({ url, session: SESSION, logger: silentLogger }, (db) =>
        moveOn(db, source.sqlite, source.masterKeys, options),
      );
      return { place: placeOf(url), moved };
    } finally {
      if (source.sqlite.inTransaction) source.sqlite.exec('ROLLBACK');
      await source.close();
    }
  } catch (error) {
    if (!(error instanceof StorageFailure)) throw error;
    throw new StorageFailure(
      `the database that SV_DATABASE_URL_NEXT names cannot be used: ${error.message}`,
      { cause: error },
    );
  } finally {
    lock.release();
  }
}

/** @param db one connection of the target */
async function moveOn(
  db: Kysely<Schema>,
  sqlite: SqliteDatabase,
  masterKeys: MasterKeys,
  { url, rootKeys, clock, progress }: MoveOptions,
): Promise<Move['moved']> {
  await checkServer(db);
  await sql`SELECT pg_advisory_lock(${sql.lit(MOVE_LOCK)})`.execute(db);
  const tables = tablesOf(sqlite);
  const place = placeOf(url);
  const counts = await inPreparation(db, () => beginOn(db, { sqlite, tables, masterKeys, rootKeys, place }));
  if (counts === undefined) return undefined;
  const logs = await db.transaction().execute(async (transaction) => {
    for (const [at, table] of tables.entries())
      await copyTable(sqlite, transaction, table, reportOf(table, counts[at] ?? 0, progress));
    progress('Comparing every row');
    // Statistics, without which large tables would be sorted to be compared.
    for (const { name } of tables) await sql`ANALYZE ${sql.table(name)}`.execute(transaction);
    for (const table of tables) await compareTable(sqlite, transaction, table);
    const verified = await verifyLogs(transaction, clock);
    await markFinished(transaction);
    // Before the commit here: otherwise a kill between the two would leave two databases to serve on.
    markMoved(sqlite, place);
    sqlite.exec('COMMIT');
    return verified;
  });
  return { tables: tables.length, rows: counts.reduce((sum, count) => sum + count, 0), logs };
}

/**
 * Takes the target for this move and makes its schema, once both databases are found fit for it.
 *
 * @returns the number of rows of each table; undefined where an earlier run finished the move
 */
async function beginOn(
  db: Kysely<Schema>,
  from: {
    readonly sqlite: SqliteDatabase;
    readonly tables: readonly CopiedTable[];
    readonly masterKeys: MasterKeys;
    readonly rootKeys: RootKeys;
    readonly place: string;
  },
): Promise<readonly number[] | undefined> {
  const { sqlite, tables, masterKeys, rootKeys, place } = from;
  const source = identityOf(masterKeys);
  const mark = await unfinishedMove(db);
  if (mark !== undefined && mark !== source)
    throw new Error(
      `the move of another database to ${place} has not finished: name an empty one in SV_DATABASE_URL_NEXT`,
    );
  if (mark === undefined) {
    const inUse = await firstFilled(db, tables);
    const earlier = movedTo(sqlite);
    if (inUse !== undefined) {
      const there =
        earlier !== undefined && inUse === 'sealing_keys' ? await openDataKey(db, rootKeys) : undefined;
      if (there !== undefined && identityOf(there) === source) return undefined;
      throw new Error(
        `the database at ${place} has rows already (in ${inUse}): name an empty one in SV_DATABASE_URL_NEXT`,
      );
    }
    if (earlier !== undefined)
      throw new Error(
        `the database was moved to ${earlier} before: run undo-move first to move it to ${place} as well`,
      );
  }
  const counts = tables.map((table) => checkTable(sqlite, table));
  if (mark === undefined) await markUnfinished(db, source);
  await migrate(db, 'postgres');
  return counts;
}

/** Tells installations apart, by their data encryption keys; reveals nothing of the key. */
const identityOf = (keys: MasterKeys): string => Buffer.from(keys.derive('database-move')).toString('hex');

/** The first table with rows in it, that of the data encryption key before all. */
async function firstFilled(db: Kysely<Schema>, tables: readonly CopiedTable[]): Promise<string | undefined> {
  for (const name of ['sealing_keys', ...tables.map((table) => table.name)]) {
    const { rows: found } = await sql<{ readonly there: boolean }>`
      SELECT to_regclass(${quote(name)}) IS NOT NULL AS there`.execute(db);
    if (found[0]?.there !== true) continue;
    const { rows } = await sql`SELECT FROM ${sql.table(name)} LIMIT 1`.execute(db);
    if (rows.length > 0) return name;
  }
  return undefined;
}

function reportOf({ name }: CopiedTable, rows: number, progress: MoveOptions['progress']) {
  let reported = 0;
  return (copied: number): void => {
    if (rows < ROWS_PER_REPORT || (copied < reported + ROWS_PER_REPORT && copied < rows)) return;
    reported = copied;
    progress(`${name}: copied ${copied} of ${rows} rows`);
  };
}

async function verifyLogs(db: Kysely<Schema>, clock: Clock) {
  const log = createAuditStore(db, clock, postgresEngine.writeEvents);
  const verified = [];
  for (const vaultId of await log.vaultsToVerify()) {
    const verdict = await verifyLog(log, vaultId);
    if (!verdict.intact)
      throw new Error(
        `the log of ${vaultId} is broken at event ${verdict.seq} (${verdict.problem}), as it is in SQLite: nothing was ` +
          'moved. Run audit verify',
      );
    verified.push({ vaultId, events: verdict.events, head: verdict.head });
  }
  return verified;
}
