import { isUtf8 } from 'node:buffer';
import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import { MOVED_MARK } from '../sqlite/moved-mark.ts';

/** A table of SQLite that is copied. */
export interface CopiedTable {
  readonly name: string;
  readonly columns: readonly CopiedColumn[];
  /** Names of the columns of its primary key, by which both databases have its rows in the same order. */
  readonly key: readonly string[];
}

interface CopiedColumn {
  readonly name: string;
  /** The same in both databases. */
  readonly type: 'text' | 'integer' | 'bigint';
}

/** The values of a row as text, in the order of the columns. */
export type Row = readonly (string | null)[];

/** A value that PostgreSQL cannot hold. Names the row, not the value, which may be secret. */
class UnstorableValue extends Error {
  constructor(table: CopiedTable, column: string | undefined, key: readonly unknown[], why: string) {
    const row = table.key.map((name, at) => `${name} ${JSON.stringify(String(key[at]))}`);
    super(
      `PostgreSQL cannot hold ${table.name}.${column} of the row with ${row.join(', ')}: ${why}. Nothing was copied. ` +
        'Mend or delete the row, and run move-to-postgres again',
    );
    this.name = 'UnstorableValue';
  }
}

/** What migrations keep about themselves is made on the target by the same migrations. */
const NOT_COPIED = ['sqlite\\_%', 'schema\\_%', MOVED_MARK];

/** All tables, from the schema itself; each after those that its rows refer to. */
export function tablesOf(sqlite: SqliteDatabase): readonly CopiedTable[] {
  const names = sqlite
    .prepare<string[], string>(
      `SELECT name FROM sqlite_schema WHERE type = 'table'
       ${NOT_COPIED.map(() => `AND name NOT LIKE ? ESCAPE '\\'`).join(' ')} ORDER BY name`,
    )
    .pluck()
    .all(...NOT_COPIED);
  const ordered = new Set<string>();
  const place = (name: string): void => {
    if (ordered.has(name)) return;
    for (const referred of referredBy(sqlite, name)) if (referred !== name) place(referred);
    ordered.add(name);
  };
  for (const name of names) place(name);
  return [...ordered].map((name) => tableOf(sqlite, name));
}

const referredBy = (sqlite: SqliteDatabase, name: string): readonly string[] =>
  sqlite
    .prepare<[string], string>('SELECT DISTINCT "table" FROM pragma_foreign_key_list(?)')
    .pluck()
    .all(name);

function tableOf(sqlite: SqliteDatabase, name: string): CopiedTable {
  const found = sqlite
    .prepare<[string], { readonly name: string; readonly type: string; readonly pk: number }>(
      'SELECT name, lower(type) AS type, pk FROM pragma_table_info(?) ORDER BY cid',
    )
    .all(name);
  const columns = found.map((column): CopiedColumn => {
    const { type } = column;
    if (type === 'text' || type === 'integer' || type === 'bigint') return { name: column.name, type };
    throw new Error(`${name}.${column.name} has the type ${type}, which move-to-postgres does not know`);
  });
  const key = found.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
  if (key.length === 0) throw new Error(`${name} has no primary key, by which its rows are compared`);
  return { name, columns, key: key.map((column) => column.name) };
}

/**
 * The rows of a table in the order of its key, one at a time. No other statement may write until the last is read.
 *
 * @throws UnstorableValue for text with a NUL character or invalid UTF-8
 */
export function* rowsOf(sqlite: SqliteDatabase, table: CopiedTable): Generator<Row, undefined> {
  const { columns, name } = table;
  // Text as its bytes: better-sqlite3 would replace what is no UTF-8. Integers as text: some exceed those of JavaScript.
  const values = columns.map(
    (column) => `CAST(${quote(column.name)} AS ${column.type === 'text' ? 'BLOB' : 'TEXT'})`,
  );
  const order = table.key.map(quote).join();
  const rows = sqlite
    .prepare<[], readonly (Buffer | string | null)[]>(
      `SELECT ${values.join()} FROM ${quote(name)} ORDER BY ${order}`,
    )
    .raw()
    .iterate();
  for (const row of rows) {
    const problem = row.findIndex((value) => whyUnstorable(value) !== undefined);
    if (problem !== -1) {
      const why = whyUnstorable(row[problem] ?? null) ?? '';
      throw new UnstorableValue(table, columns[problem]?.name, keyOf(table, row), why);
    }
    yield row.map((value) => value?.toString() ?? null);
  }
}

/** The values of the key of a row. */
export function keyOf<Value>(
  { columns, key }: CopiedTable,
  row: readonly Value[],
): readonly (Value | undefined)[] {
  return key.map((name) => row[columns.findIndex((column) => column.name === name)]);
}

function whyUnstorable(value: Buffer | string | null): string | undefined {
  if (value === null || typeof value === 'string') return undefined;
  if (value.includes(0)) return 'it has a NUL character';
  return isUtf8(value) ? undefined : 'it is not valid UTF-8';
}

const MAX_INTEGER = 2 ** 31 - 1;

/**
 * Reads all of a table.
 *
 * @returns how many rows it has
 * @throws UnstorableValue for the first row that PostgreSQL cannot hold
 */
export function checkTable(sqlite: SqliteDatabase, table: CopiedTable): number {
  const unfit = table.columns.map(({ name, type }) => {
    const column = quote(name);
    if (type === 'text') return `typeof(${column}) NOT IN ('text', 'null')`;
    const isOther = `typeof(${column}) NOT IN ('integer', 'null')`;
    return type === 'bigint'
      ? isOther
      : `(${isOther} OR ${column} NOT BETWEEN ${-MAX_INTEGER - 1} AND ${MAX_INTEGER})`;
  });
  const which = table.columns.map(({ name }, at) => `WHEN ${unfit[at]} THEN '${name}'`);
  const found = sqlite
    .prepare<[], Record<string, unknown>>(
      `SELECT CASE ${which.join(' ')} END AS "column", ${table.key.map(quote).join()} FROM ${quote(table.name)}
       WHERE ${unfit.join(' OR ')} LIMIT 1`,
    )
    .get();
  if (found !== undefined) {
    const key = table.key.map((name) => found[name]);
    throw new UnstorableValue(table, String(found['column']), key, 'it has another type than its column');
  }
  let rows = 0;
  for (const _row of rowsOf(sqlite, table)) rows++;
  return rows;
}

/** Names of tables and columns are those of migrations. */
export const quote = (name: string): string => `"${name}"`;
