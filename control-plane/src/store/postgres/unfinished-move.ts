import { type Kysely, sql } from 'kysely';
import type { Schema } from '../schema.ts';

/** The database is the target of `move-to-postgres`, which was interrupted or still runs. Nothing was changed. */
export class UnfinishedMove extends Error {
  constructor() {
    super('the move of a SQLite database to this one has not finished: run move-to-postgres again');
    this.name = 'UnfinishedMove';
  }
}

/** Which installation is being moved to this database; undefined where none is. */
export async function unfinishedMove(db: Kysely<Schema>): Promise<string | undefined> {
  const { rows: tables } = await sql`SELECT to_regclass('unfinished_move') AS mark`.execute(db);
  if ((tables[0] as { readonly mark: string | null }).mark === null) return undefined;
  const { rows } = await sql<{ readonly source: string }>`SELECT source FROM unfinished_move`.execute(db);
  return rows[0]?.source;
}

/** In one statement: the table is never there without its row. */
export async function markUnfinished(db: Kysely<Schema>, source: string): Promise<void> {
  await sql`CREATE TABLE unfinished_move AS SELECT ${sql.lit(source)}::text AS source`.execute(db);
}

export async function markFinished(db: Kysely<Schema>): Promise<void> {
  await sql`DROP TABLE unfinished_move`.execute(db);
}
