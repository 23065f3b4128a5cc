import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import { CompiledQuery, type Kysely } from 'kysely';
import type { Schema } from '../schema.ts';
import { type CopiedTable, type Row, keyOf, quote, rowsOf } from './tables.ts';

/** Of one statement: bounds the memory, however long rows are. */
const MAX_ROWS = 1_000;
const MAX_CHARACTERS = 1_000_000;

/**
 * Copies the rows of a table.
 *
 * @param target a transaction of PostgreSQL
 * @param onRows called after each statement with the number of rows that are copied by then
 */
export async function copyTable(
  source: SqliteDatabase,
  target: Kysely<Schema>,
  table: CopiedTable,
  onRows: (copied: number) => void,
): Promise<void> {
  const { name, columns } = table;
  const insert = `INSERT INTO ${quote(name)} (${columns.map((column) => quote(column.name)).join()})
    SELECT * FROM unnest(${columns.map(({ type }, at) => `$${at + 1}::${type}[]`).join()})`;
  let copied = 0;
  for (const page of pagesOf(rowsOf(source, table))) {
    const values = columns.map((_, at) => page.map((row) => row[at]));
    await target.executeQuery(CompiledQuery.raw(insert, values));
    copied += page.length;
    onRows(copied);
  }
}

function* pagesOf(rows: Iterable<Row>): Generator<readonly Row[]> {
  let page: Row[] = [];
  let characters = 0;
  for (const row of rows) {
    page.push(row);
    for (const value of row) characters += value?.length ?? 0;
    if (page.length < MAX_ROWS && characters < MAX_CHARACTERS) continue;
    yield page;
    [page, characters] = [[], 0];
  }
  if (page.length > 0) yield page;
}

/** A row is not the same in both databases, or in one alone. */
class CopyDiffers extends Error {
  constructor({ name, key }: CopiedTable, where: readonly unknown[]) {
    super(
      `the copy of ${name} differs from the row with (${key.join(', ')}) = ${JSON.stringify(where)} on. Nothing was moved: ` +
        'please report this',
    );
    this.name = 'CopyDiffers';
  }
}

const MAX_FETCHED = 200;

/**
 * Reads a table back and compares every value of every row.
 *
 * @param target the transaction that copied it
 * @throws CopyDiffers at the first difference
 */
export async function compareTable(
  source: SqliteDatabase,
  target: Kysely<Schema>,
  table: CopiedTable,
): Promise<void> {
  const { name, columns, key } = table;
  const values = columns.map((column, at) => `t.${quote(column.name)}::text AS c${at}`);
  const order = key.map((part) => `t.${quote(part)}`);
  await target.executeQuery(
    CompiledQuery.raw(
      `DECLARE moved CURSOR FOR SELECT ${values.join()} FROM ${quote(name)} t ORDER BY ${order.join()}`,
    ),
  );
  const expected = rowsOf(source, table);
  try {
    for (;;) {
      const { rows } = await target.executeQuery<Record<string, string | null>>(
        CompiledQuery.raw(`FETCH ${MAX_FETCHED} FROM moved`),
      );
      for (const read of rows) {
        const copy = columns.map((_, at) => read[`c${at}`] ?? null);
        const { value: row } = expected.next();
        if (row === undefined || row.some((value, at) => value !== copy[at]))
          throw new CopyDiffers(table, keyOf(table, row ?? copy));
      }
      if (rows.length === 0) break;
    }
    const { value: missing } = expected.next();
    if (missing !== undefined) throw new CopyDiffers(table, keyOf(table, missing));
  } finally {
    // Otherwise the connection would count as busy.
    expected.return(undefined);
  }
  await target.executeQuery(CompiledQuery.raw('CLOSE moved'));
}
