import { type Migration, type SqliteDatabase, openPlain, openSqlite } from '@svault/server-kit/sqlite';
import { type Query, breaksOfExpand, fillTables, readRows } from '@svault/test-kit/expand-rule';
import { sqliteShape } from '@svault/test-kit/schema-shape';
import { tempDir } from '@svault/test-kit/temp-dir';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { MIGRATIONS } from '../../src/sqlite/schema.ts';

/* An `expand` step only adds what a former program need not know: docs/decisions/0016-upgrades.md. */

const IN_ORDER = MIGRATIONS.toSorted((a, b) => a.id - b.id);

const queryOf =
  (db: SqliteDatabase): Query =>
  (sql) =>
    new Promise((resolve) => {
      const statement = db.prepare<[], Record<string, unknown>>(sql);
      resolve(statement.reader ? statement.all() : (statement.run(), []));
    });

/** Applies the steps before one, fills the tables, applies the step. @returns what keeps it from being `expand` */
async function breaksOf(step: Migration, before: readonly Migration[]): Promise<string[]> {
  const dir = tempDir();
  onTestFinished(() => dir.remove());
  const path = join(dir.path, 'webhook.db');
  openSqlite(path, { migrations: before }).close();
  const db = openPlain(path);
  onTestFinished(() => void db.close());
  db.pragma('foreign_keys = OFF');
  db.pragma('ignore_check_constraints = ON');
  const query = queryOf(db);
  const shape = await sqliteShape(query);
  await fillTables(query, shape);
  const rows = await readRows(query, shape);
  db.exec(step.sql);
  return breaksOfExpand(
    { shape, rows },
    { shape: await sqliteShape(query), rows: await readRows(query, shape) },
  );
}

test.each(IN_ORDER.map((step, at) => ({ step, name: step.name, before: IN_ORDER.slice(0, at) })))(
  'the migration $name is expand only if it adds what former programs need not know',
  async ({ step, before }) => {
    const breaks = await breaksOf(step, before);
    if (step.phase === 'expand') expect(breaks).toEqual([]);
    else expect(step.compatibleFrom).toBeLessThanOrEqual(step.id);
  },
);

const withSql = (sql: string): Migration => ({ id: 999, name: 'of a test', phase: 'expand', sql });

test.each([
  [
    'a table, a column with a default, one without, a condition on a new column and an index',
    `
    CREATE TABLE teams (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
    ALTER TABLE records ADD COLUMN uses INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE records ADD COLUMN team INTEGER CHECK (team > 0) REFERENCES teams (id);
    CREATE INDEX records_by_team ON records (team);`,
  ],
])('%s are an expand step', async (_what, sql) => {
  expect(await breaksOf(withSql(sql), IN_ORDER)).toEqual([]);
});

test.each([
  [
    'a column that is dropped',
    'ALTER TABLE records DROP COLUMN expiry_time',
    /^records\.expiry_time is gone/,
  ],
  ['a column that is renamed', 'ALTER TABLE records RENAME COLUMN body TO sealed', /^records\.body is gone/],
  ['a table that is dropped', 'DROP TABLE refresh_marks', /^refresh_marks\.service_name is gone/],
  [
    'an index that refuses rows',
    'CREATE UNIQUE INDEX one ON approvals (sub)',
    /^index one is new on approvals/,
  ],
  [
    'a trigger',
    "CREATE TRIGGER no BEFORE DELETE ON records BEGIN SELECT RAISE(ABORT, ''); END",
    /^trigger no is new/,
  ],
  ['an index that is dropped', 'DROP INDEX approvals_sub', /^index approvals_sub is gone/],
  ['rows that are changed', "UPDATE epochs SET hash = 'other'", /^rows of epochs were/],
  ['rows that are deleted', 'DELETE FROM proxy_configs', /^rows of proxy_configs were/],
  [
    'a condition on a former column',
    `
    CREATE TABLE new_epochs (epoch TEXT PRIMARY KEY, position INTEGER NOT NULL UNIQUE, started_at INTEGER NOT NULL,
      restored INTEGER NOT NULL CHECK (restored IN (0, 1)), seq INTEGER NOT NULL, hash TEXT NOT NULL CHECK (hash <> '')) STRICT;
    INSERT INTO new_epochs SELECT * FROM epochs; DROP TABLE epochs; ALTER TABLE new_epochs RENAME TO epochs`,
    /^epochs CHECK \(hash <> ''\) is new on epochs/,
  ],
  [
    'a column of another type',
    `
    CREATE TABLE new_marks (service_name TEXT, version TEXT NOT NULL, state TEXT, since INTEGER);
    DROP TABLE refresh_marks; ALTER TABLE new_marks RENAME TO refresh_marks`,
    /^refresh_marks\.version was INTEGER/,
  ],
])('%s is no expand step', async (_what, sql, said) => {
  expect(await breaksOf(withSql(sql), IN_ORDER)).toContainEqual(expect.stringMatching(said));
});
