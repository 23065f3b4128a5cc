import {
  type DeleteResult,
  type InsertResult,
  type Kysely,
  type SelectQueryBuilder,
  type Simplify,
  type SqlBool,
  type UpdateResult,
  sql,
} from 'kysely';
import { type Page, type PageRequest, pageOf } from '../../core/paging.ts';
import type { Schema } from '../schema.ts';

/** Runs a statement without a result. */
export async function run(statement: { execute(): Promise<unknown> }): Promise<void> {
  await statement.execute();
}

/** How many rows a statement wrote or removed. */
export async function rowsChanged(statement: {
  executeTakeFirstOrThrow(): Promise<InsertResult | UpdateResult | DeleteResult>;
}): Promise<number> {
  const result = await statement.executeTakeFirstOrThrow();
  if ('numDeletedRows' in result) return Number(result.numDeletedRows);
  if ('numUpdatedRows' in result) return Number(result.numUpdatedRows);
  return Number(result.numInsertedOrUpdatedRows ?? 0n);
}

/** Whether a statement wrote or removed a row. */
export const changesRow = async (statement: Parameters<typeof rowsChanged>[0]): Promise<boolean> =>
  (await rowsChanged(statement)) > 0;

/** The entity in the first row, if there is one. */
export async function first<Row, T>(
  query: { executeTakeFirst(): Promise<Row | undefined> },
  toEntity: (row: Row) => T,
): Promise<T | undefined> {
  const row = await query.executeTakeFirst();
  return row === undefined ? undefined : toEntity(row);
}

/** The entities in all rows. */
export async function all<Row, T>(
  query: { execute(): Promise<Row[]> },
  toEntity: (row: Row) => T,
): Promise<T[]> {
  return (await query.execute()).map(toEntity);
}

/**
 * Keyset pagination: the rows after the last one of the former page, by these columns. A row comparison, so that the index of
 * the order is used on both databases.
 */
export async function pageBy<Tables extends keyof Schema, Row, Column extends keyof Row & string, T>(
  columns: readonly Column[],
  query: SelectQueryBuilder<Schema, Tables, Row>,
  { limit, after }: PageRequest,
  toEntity: (row: Simplify<Row>) => T,
): Promise<Page<T>> {
  const refs = sql.join(columns.map((column) => sql.ref(column)));
  const rest = after === undefined ? query : query.where(sql<SqlBool>`(${refs}) > (${sql.join([...after])})`);
  const rows = await rest
    .orderBy(refs)
    .limit(limit + 1)
    .execute();
  const page = pageOf(rows, limit, (row) => columns.map((column) => String(row[column])));
  return { ...page, items: page.items.map(toEntity) };
}

/** The number of rows, read no further than `atMost`, so that a count costs the same for any size of the table. */
export async function countUpTo<Table extends keyof Schema>(
  db: Kysely<Schema>,
  query: SelectQueryBuilder<Schema, Table, object>,
  atMost: number,
): Promise<number> {
  const { rows } = await db
    .selectFrom(query.select(sql.lit(1).as('one')).limit(atMost).as('looked_at'))
    .select(({ fn }) => fn.countAll<number>().as('rows'))
    .executeTakeFirstOrThrow();
  return rows;
}

/** Largest first. A statement's text has a parameter for each value, so few sizes make few prepared statements. */
const SIZES = [100, 10, 1] as const;

/** Cuts a list into chunks for statements that take several rows or names. */
export function* chunksOf<T>(items: readonly T[]): Generator<readonly T[]> {
  let from = 0;
  for (const size of SIZES)
    for (; items.length - from >= size; from += size) yield items.slice(from, from + size);
}

/** The rows of a query for each chunk of a list. */
export async function rowsOfChunks<T, Row>(
  items: readonly T[],
  query: (chunk: readonly T[]) => { execute(): Promise<Row[]> },
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const chunk of chunksOf(items)) rows.push(...(await query(chunk).execute()));
  return rows;
}
