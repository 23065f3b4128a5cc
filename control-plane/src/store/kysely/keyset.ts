import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { PageRequest } from '../../core/paging.ts';

/**
 * The condition "after the last row of the page before", for rows ordered by these columns. A row comparison, so
 * that the index of the order finds the place, on SQLite and PostgreSQL alike.
 */
export function afterKey(columns: readonly string[], { after }: PageRequest): RawBuilder<SqlBool> {
  if (after === undefined) return sql<SqlBool>`1 = 1`;
  return sql<SqlBool>`(${sql.join(columns.map((column) => sql.ref(column)))}) > (${sql.join([...after])})`;
}
