import { setTimeout as delay } from 'node:timers/promises';
import { type Logger, silentLogger } from '@svault/server-kit/logger';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { AppliedStep } from '@svault/server-kit/schema-steps';
import type { Secret } from '@svault/shared';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { NoDatabase, type OpenOptions } from '../database.ts';
import { appliedSteps, migrate } from '../migrations/migrate.ts';
import { isOfLocks } from './postgres-errors.ts';
import { type PoolOptions, createPostgresPool } from './postgres-pool.ts';
import type { Schema } from '../schema.ts';
import { type RootKeys, createDataKey, openDataKey } from '../data-encryption-key.ts';
import { textInByteOrder } from './text-in-byte-order.ts';
import { UnfinishedMove, unfinishedMove } from './unfinished-move.ts';

/** Lets processes that start together prepare the database one after another. */
const PREPARATION_LOCK = 7_385_217;

/** No limit for statements: an index over a large table needs minutes. */
const TIMEOUTS = { connectMs: 5_000, statementMs: 0, lockMs: 60_000 };

const LOCK_TRIES = 300;
const LOCK_PAUSE_MS = 2_000;

/** PostgreSQL 13 is out of support. */
const MIN_VERSION = 140_000;

/** This program does not work on the server. */
class UnsuitableServer extends Error {
  constructor(why: string) {
    super(`the PostgreSQL database does not fit: ${why}`);
    this.name = 'UnsuitableServer';
  }
}

/**
 * Brings a database's schema up to date and opens its key, on one connection, while no other process does.
 *
 * @throws NoDatabase, StorageFailure, UnsuitableServer, UnfinishedMove, WrongMasterKey, NewerSchema
 */
export async function preparePostgres(
  url: Secret,
  rootKeys: RootKeys,
  { logger, opener, migrations }: Omit<OpenOptions, 'clock'>,
): Promise<MasterKeys> {
  return onOneConnection({ url, logger }, async (db) => {
    await checkServer(db);
    return inPreparation(db, async () => {
      if (opener === 'tool' && !(await hasKeyTable(db))) throw new NoDatabase(placeOf(url));
      if ((await unfinishedMove(db)) !== undefined) throw new UnfinishedMove();
      const known = (await hasKeyTable(db)) ? await openDataKey(db, rootKeys) : undefined;
      await migrate(db, 'postgres', { migrations, waitForLocks: createLockWait(db, logger) });
      return known ?? (await createDataKey(db, rootKeys));
    });
  });
}

/** Which steps of the schema a database has; none where it has no schema. @throws StorageFailure, UnsuitableServer */
export const readPostgresSchema = (url: Secret): Promise<readonly AppliedStep[]> =>
  onOneConnection({ url, logger: silentLogger }, async (db) => {
    await checkServer(db);
    return appliedSteps(db, 'postgres');
  });

/** For long work, whose new text columns compare by their bytes. Its locks end with the connection. */
export async function onOneConnection<T>(
  options: Pick<PoolOptions, 'url' | 'session' | 'logger'>,
  work: (db: Kysely<Schema>) => Promise<T>,
): Promise<T> {
  const pool = createPostgresPool({ ...options, maxConnections: 1, timeouts: TIMEOUTS });
  const kysely = new Kysely<Schema>({
    dialect: new PostgresDialect({ pool: pool.forKysely }),
    plugins: [textInByteOrder],
  });
  try {
    return await kysely.connection().execute(work);
  } finally {
    await kysely.destroy();
  }
}

/** Held by the connection. */
const lockPreparation = (db: Kysely<Schema>): Promise<unknown> =>
  sql`SELECT pg_advisory_lock(${sql.lit(PREPARATION_LOCK)})`.execute(db);

/**
 * Tries again while a backup may be running: `pg_dump` has every table locked against changes of the schema. Processes that
 * start meanwhile prepare in between.
 */
function createLockWait(db: Kysely<Schema>, logger: Logger): (error: unknown) => Promise<void> {
  let left = LOCK_TRIES;
  return async (error) => {
    if (!isOfLocks(error) || --left === 0) throw error;
    logger.warn('a migration waits for a transaction that has its tables locked, such as a backup');
    await sql`SELECT pg_advisory_unlock(${sql.lit(PREPARATION_LOCK)})`.execute(db);
    await delay(LOCK_PAUSE_MS);
    await lockPreparation(db);
  };
}

/**
 * Runs work while no other process prepares the database.
 *
 * @param db one connection, with which the lock ends at the latest
 */
export async function inPreparation<T>(db: Kysely<Schema>, work: () => Promise<T>): Promise<T> {
  await lockPreparation(db);
  const result = await work();
  await sql`SELECT pg_advisory_unlock(${sql.lit(PREPARATION_LOCK)})`.execute(db);
  return result;
}

/** @throws UnsuitableServer */
export async function checkServer(db: Kysely<Schema>): Promise<void> {
  const { rows } = await sql<{ readonly version: number; readonly encoding: string }>`
    SELECT current_setting('server_version_num')::int AS version,
      current_setting('server_encoding') AS encoding`.execute(db);
  const [{ version, encoding } = { version: 0, encoding: '' }] = rows;
  if (version < MIN_VERSION) throw new UnsuitableServer('the server is older than PostgreSQL 14');
  if (encoding !== 'UTF8') throw new UnsuitableServer(`its encoding is ${encoding}, not UTF8`);
}

/** In the schema of unqualified names: other schemas may have another program's tables. */
async function hasKeyTable(db: Kysely<Schema>): Promise<boolean> {
  const { rows } = await sql<{ readonly there: boolean }>`
    SELECT to_regclass('sealing_keys') IS NOT NULL AS there`.execute(db);
  return rows[0]?.there === true;
}

/** Without user and password. */
export function placeOf(url: Secret): string {
  const { host, pathname } = new URL(url.reveal());
  return host + pathname;
}
