import { type Kysely, type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { PageRequest } from '../../core/paging.ts';
import type { Schema } from '../schema/schema.ts';

/**
 * Keyset pagination: the condition "after the last row of the former page" for rows ordered by these columns. A row
 * comparison, so that the index of the order is used on both databases.
 */
export function afterKey(columns: readonly string[], { after }: PageRequest): RawBuilder<SqlBool> {
  if (after === undefined) return sql<SqlBool>`1 = 1`;
  return sql<SqlBool>`(${sql.join(columns.map((column) => sql.ref(column)))}) > (${sql.join([...after])})`;
}

/** The number of rows, read no further than `atMost`, so that a count costs the same for any size of the table. */
export async function countUpTo<Table extends keyof Schema>(
  db: Kysely<Schema>,
  query: SelectQueryBuilder<Schema, Table, object>,
  atMost: number,
): Promise<number> {
  const { rows } = await db
    .selectFrom(query.select(sql.lit(1).as('one')).limit(atMost).as('looked_at'))
    .select(({ fn }) => fn.countAll().as('rows'))
    .executeTakeFirstOrThrow();
  return Number(rows);
}

/** Largest first. A statement's text has a parameter for each value, so few sizes make few prepared statements. */
const SIZES = [100, 10, 1] as const;

/** Cuts a list into chunks for statements that take several rows or names. */
export function* chunksOf<T>(items: readonly T[]): Generator<readonly T[]> {
  let from = 0;
  for (const size of SIZES)
    for (; items.length - from >= size; from += size) yield items.slice(from, from + size);
}
