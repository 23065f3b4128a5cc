import { type Kysely, type SelectQueryBuilder, sql } from 'kysely';
import type { Schema } from '../schema/schema.ts';

/** How many rows a query has, read no further than `atMost`: a count costs the same however large the table is. */
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
