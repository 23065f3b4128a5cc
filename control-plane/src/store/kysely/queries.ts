import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type DeleteResult,
  type Expression,
  type InsertResult,
  type Kysely,
  type SelectQueryBuilder,
  type Simplify,
  type SqlBool,
  type UpdateResult,
  sql,
} from 'kysely';
import type { Id } from '@svault/shared';
import { nameKey } from '../../core/name.ts';
import { type Page, type PageRequest, cursorOf, pageOf } from '../../core/paging.ts';
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

/** Rows that one statement looks at for conditions without an index: some milliseconds, in which SQLite serves nothing else. */
const MAX_LOOKED_AT = 10_000;
/** The same of the first statement, which most pages need alone. */
const FIRST_LOOKED_AT = 1_000;
/** So a page looks at 191,000 rows. */
const MAX_SCANS = 20;

/**
 * Keyset pagination: the rows after the last one of the former page, by these columns. A row comparison, so that the index of
 * the order is used on both databases.
 *
 * @param conditions without an index. They are checked on a bounded number of rows: where few rows of a long list meet them, a
 *   page may hold fewer items than requested, or none, and still have a cursor
 */
export async function pageBy<Tables extends keyof Schema, Row, Column extends keyof Row & string, T>(
  columns: readonly Column[],
  query: SelectQueryBuilder<Schema, Tables, Row>,
  { limit, after }: PageRequest,
  toEntity: (row: Simplify<Row>) => T,
  conditions: readonly Expression<SqlBool>[] = [],
): Promise<Page<T>> {
  const refs = sql.join(columns.map((column) => sql.ref(column)));
  const keyOf = (row: { readonly [Name in Column]: unknown }) => columns.map((column) => String(row[column]));
  const found: Simplify<Row>[] = [];
  let from = after;
  for (let scans = 0; scans < MAX_SCANS && found.length <= limit; scans++) {
    if (scans > 0) await nextTurn();
    const rest = from === undefined ? query : query.where(sql<SqlBool>`(${refs}) > (${sql.join([...from])})`);
    const to =
      conditions.length === 0
        ? undefined
        : await keyOfRow(scans === 0 ? FIRST_LOOKED_AT : MAX_LOOKED_AT, rest, columns);
    let some = to === undefined ? rest : rest.where(sql<SqlBool>`(${refs}) <= (${sql.join(to)})`);
    for (const condition of conditions) some = some.where(condition);
    found.push(
      ...(await some
        .orderBy(refs)
        .limit(limit + 1 - found.length)
        .execute()),
    );
    from = to;
    if (to === undefined) break;
  }
  const page = pageOf(found, limit, keyOf);
  const rest = found.length > limit || from === undefined ? {} : { nextCursor: cursorOf(from) };
  return { ...page, ...rest, items: page.items.map(toEntity) };
}

/** The key of the n-th row; undefined where fewer rows are left. */
async function keyOfRow<Tables extends keyof Schema>(
  number: number,
  query: SelectQueryBuilder<Schema, Tables, unknown>,
  columns: readonly string[],
): Promise<string[] | undefined> {
  const refs = columns.map((column) => sql.ref<string>(column));
  const row = await query
    .clearSelect()
    .select(refs.map((ref, index) => ref.as(String(index))))
    .orderBy(sql.join(refs))
    .offset(number - 1)
    .limit(1)
    .executeTakeFirst();
  return row && columns.map((_, index) => String(row[index]));
}

/**
 * The condition of an account for rows that a list of ids names. SQLite, which has no statistics, reads all rows of an account
 * sooner than ten by their ids: the expression keeps it from the account's indexes.
 */
export const ofVault = (vaultId: Id<'vlt'>): Expression<SqlBool> => sql<SqlBool>`vault_id || '' = ${vaultId}`;

/** That a row's name contains a text, as `nameKey` compares names; no condition without a text. */
export function nameContains(text: string | undefined): Expression<SqlBool>[] {
  if (text === undefined) return [];
  const literal = nameKey(text).replaceAll(/[!%_]/g, '!$&');
  return [sql<SqlBool>`name_key LIKE ${`%${literal}%`} ESCAPE '!'`];
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

/**
 * The number of rows of each key, read no further than `upTo` for each of them; without keys that have none.
 *
 * @param rowsOf the rows of a key, in which nothing is selected
 */
export async function countsUpTo<Table extends keyof Schema, Key extends string>(
  db: Kysely<Schema>,
  keys: readonly Key[],
  rowsOf: (key: Key) => SelectQueryBuilder<Schema, Table, object>,
  upTo: number,
): Promise<ReadonlyMap<Key, number>> {
  const counted = (key: Key) => {
    const some = rowsOf(key).select(sql.lit(1).as('one')).limit(upTo);
    return sql`SELECT cast(${key} AS text) AS key, count(*) AS rows FROM ${some} AS looked_at`;
  };
  const counts = await rowsOfChunks(keys, (chunk) => ({
    execute: async () => {
      const union = sql.join(chunk.map(counted), sql` UNION ALL `);
      return (await sql<{ key: Key; rows: number }>`${union}`.execute(db)).rows;
    },
  }));
  return new Map(counts.filter(({ rows }) => rows > 0).map(({ key, rows }) => [key, rows]));
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
