import {
  type AppliedStep,
  compatibleFromOf,
  planSchema,
  toAppliedStep,
} from '@svault/server-kit/schema-steps';
import { VERSION } from '@svault/server-kit/version';
import { type Kysely, sql } from 'kysely';
import { MIGRATIONS } from './migrations.ts';
import type { DatabaseKind, SchemaMigration } from './schema-migration.ts';
import type { Schema } from '../schema.ts';

/**
 * How long a step on PostgreSQL waits for a lock before it tries again. Statements of other processes queue up behind it; and
 * it is less than `deadlock_timeout`, so that of two that wait for each other the step gives up, and not a request.
 */
const LOCK_TIMEOUT = '500ms';

export interface MigrateOptions {
  /** Waits between two tries of a step whose tables others have locked. Absent: a step is tried once. */
  readonly waitForLocks?: ((error: unknown) => Promise<void>) | undefined;
  /** In place of the program's own: in tests, those of another version of it. */
  readonly migrations?: readonly SchemaMigration[] | undefined;
}

/**
 * Brings the schema up to date: each missing migration in one transaction, so that a kill leaves whole steps. (Kysely's
 * `Migrator` does not tell a newer schema from a corrupt one, and adds two tables.)
 *
 * @throws NewerSchema before anything is changed
 */
export async function migrate(
  db: Kysely<Schema>,
  kind: DatabaseKind,
  { migrations = MIGRATIONS, waitForLocks }: MigrateOptions = {},
): Promise<void> {
  const { pending } = planSchema('the database', await appliedSteps(db, kind), migrations);
  if (pending.length === 0) return;
  await db.transaction().execute((transaction) => makeMigrationsTable(transaction, kind));
  for (const migration of pending) {
    for (;;) {
      try {
        await db.transaction().execute((transaction) => apply(transaction, kind, migration));
        break;
      } catch (error) {
        if (waitForLocks === undefined) throw error;
        await waitForLocks(error);
      }
    }
  }
}

/** Which steps a database has; none where it is empty. */
export async function appliedSteps(db: Kysely<Schema>, kind: DatabaseKind): Promise<AppliedStep[]> {
  if ((await columnsOfTable(db, kind)).length === 0) return [];
  const rows = await db.selectFrom('schema_migrations').selectAll().orderBy('id').execute();
  return rows.map(toAppliedStep);
}

async function apply(db: Kysely<Schema>, kind: DatabaseKind, migration: SchemaMigration): Promise<void> {
  if (kind === 'postgres') await sql`SET LOCAL lock_timeout = ${sql.lit(LOCK_TIMEOUT)}`.execute(db);
  const { id, name } = migration;
  // Read again inside the write transaction, since another process may have applied it.
  const row = await db.selectFrom('schema_migrations').select('id').where('id', '=', id).executeTakeFirst();
  if (row !== undefined) return;
  await migration.up(db, kind);
  await db
    .insertInto('schema_migrations')
    .values({ id, name, compatible_from: compatibleFromOf(migration), applied_by: VERSION })
    .execute();
}

/** Databases made before 0.1.0 lack the last two columns. */
async function makeMigrationsTable(db: Kysely<Schema>, kind: DatabaseKind): Promise<void> {
  await sql`CREATE TABLE IF NOT EXISTS schema_migrations (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, compatible_from INTEGER, applied_by TEXT)`.execute(db);
  const columns = await columnsOfTable(db, kind);
  for (const [name, type] of [
    ['compatible_from', 'integer'],
    ['applied_by', 'text'],
  ] as const)
    if (!columns.includes(name))
      await db.schema.alterTable('schema_migrations').addColumn(name, type).execute();
}

/** In the schema of unqualified names; none where there is no table. */
async function columnsOfTable(db: Kysely<Schema>, kind: DatabaseKind): Promise<readonly string[]> {
  const columns =
    kind === 'postgres'
      ? sql<{ readonly name: string }>`SELECT attname AS name FROM pg_attribute
          WHERE attrelid = to_regclass('schema_migrations') AND attnum > 0 AND NOT attisdropped`
      : sql<{ readonly name: string }>`SELECT name FROM pragma_table_info('schema_migrations')`;
  return (await columns.execute(db)).rows.map(({ name }) => name);
}
