import { createGroupCommit } from '@svault/server-kit/group-commit';
import { silentLogger } from '@svault/server-kit/logger';
import { openPlain } from '@svault/server-kit/sqlite';
import { Secret } from '@svault/shared';
import { type Query, breaksOfExpand, fillTables, readRows } from '@svault/test-kit/expand-rule';
import { postgresShape, sqliteShape } from '@svault/test-kit/schema-shape';
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate } from '../../src/store/migrations/migrate.ts';
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts';
import type { SchemaMigration } from '../../src/store/migrations/schema-migration.ts';
import { createPostgresPool } from '../../src/store/postgres/postgres-pool.ts';
import { textInByteOrder } from '../../src/store/postgres/text-in-byte-order.ts';
import type { Schema } from '../../src/store/schema.ts';
import { sqliteDialect } from '../../src/store/sqlite/kysely-dialect.ts';
import { type Place, makePlace } from '../support/management-service.ts';

/* An `expand` step only adds what a former program need not know: docs/decisions/0016-upgrades.md. */

let place: Place;
let kysely: Kysely<Schema>;
beforeEach(async () => {
  place = await makePlace({}, { empty: true });
  if (place.state.kind === 'postgres') {
    await place.state.run('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    const timeouts = { connectMs: 5_000, statementMs: 0, lockMs: 0 };
    const url = new Secret(place.env['SV_DATABASE_URL'] ?? '');
    const pool = createPostgresPool({ url, maxConnections: 1, timeouts, logger: silentLogger });
    kysely = new Kysely({
      dialect: new PostgresDialect({ pool: pool.forKysely }),
      plugins: [textInByteOrder],
    });
  } else {
    const sqlite = openPlain(place.databasePath);
    kysely = new Kysely({ dialect: sqliteDialect(sqlite, createGroupCommit(sqlite)) });
  }
});
afterEach(async () => {
  await kysely.destroy();
  await place.remove();
});

const query: Query = async (text) =>
  (await kysely.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text))).rows;
const run = (text: string): Promise<unknown> => query(text);
const shapeOf = () => (place.state.kind === 'postgres' ? postgresShape(query) : sqliteShape(query));

/** Applies a step to tables with a row each. @returns what keeps it from being `expand` */
async function breaksOf(step: SchemaMigration, before: readonly SchemaMigration[]): Promise<string[]> {
  const { kind } = place.state;
  await migrate(kysely, kind, { migrations: before });
  await run(kind === 'postgres' ? "SET session_replication_role = 'replica'" : 'PRAGMA foreign_keys = OFF');
  const shape = await shapeOf();
  await fillTables(query, shape);
  const rows = await readRows(query, shape);
  await migrate(kysely, kind, { migrations: [...before, step] });
  return breaksOfExpand({ shape, rows }, { shape: await shapeOf(), rows: await readRows(query, shape) });
}

test('every expand migration only adds what former programs need not know', async () => {
  for (const [at, step] of MIGRATIONS.entries()) {
    const breaks = await breaksOf(step, MIGRATIONS.slice(0, at));
    if (step.phase === 'expand') expect([step.name, breaks]).toEqual([step.name, []]);
    else expect(step.compatibleFrom).toBeLessThanOrEqual(step.id);
  }
});

const stepOf = (up: SchemaMigration['up']): SchemaMigration => ({
  id: 999,
  name: 'of a test',
  phase: 'expand',
  up,
});

test('tables, columns that may be left out, and indexes are an expand step', async () => {
  const step = stepOf(async (db) => {
    await db.schema
      .createTable('teams')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull().unique())
      .execute();
    const agents = db.schema.alterTable('agents');
    await agents.addColumn('team_id', 'text', (column) => column.references('teams.id')).execute();
    await agents.addColumn('uses', 'integer', (column) => column.notNull().defaultTo(0)).execute();
    await db.schema.createIndex('agents_by_team').on('agents').columns(['team_id']).execute();
  });
  expect(await breaksOf(step, MIGRATIONS)).toEqual([]);
});

test.each<[string, SchemaMigration['up'], RegExp]>([
  [
    'a column that is dropped',
    (db) => db.schema.alterTable('tokens').dropColumn('notes').execute(),
    /^tokens\.notes is gone/,
  ],
  [
    'a column that is renamed',
    (db) => db.schema.alterTable('agents').renameColumn('name', 'title').execute(),
    /^agents\.name is gone/,
  ],
  [
    'an index that refuses rows',
    (db) => db.schema.createIndex('one').unique().on('tokens').columns(['name_key']).execute(),
    /^index one is new on tokens/,
  ],
  [
    'an index that is dropped',
    (db) => db.schema.dropIndex('approvals_by_end').execute(),
    /approvals_by_end is gone/,
  ],
  [
    'rows that are changed',
    async (db) => void (await db.updateTable('vaults').set({ revision: 8 }).execute()),
    /^rows of vaults were/,
  ],
  [
    'a table that is dropped',
    (db) => db.schema.dropTable('notifications').execute(),
    /^notifications\.\w+ is gone/,
  ],
])('%s is no expand step', async (_what, up, said) => {
  expect(await breaksOf(stepOf(up), MIGRATIONS)).toContainEqual(expect.stringMatching(said));
});

test('a column of rows that are there and that nobody can leave out is no expand step', async () => {
  const up: SchemaMigration['up'] = (db) =>
    db.schema
      .alterTable('agents')
      .addColumn('team', 'text', (column) => column.notNull())
      .execute();
  await expect(breaksOf(stepOf(up), MIGRATIONS)).rejects.toThrow(/null/i);
});
