import { sql } from 'kysely';
import type { SchemaMigration } from './schema-migration.ts';

/**
 * PostgreSQL: which of the processes does the background work, and until when unless it says so again. By the database's
 * clock, since those of the processes differ. On SQLite there is one process.
 */
export const backgroundClaims: SchemaMigration = {
  id: 113,
  name: 'background-claims',
  up: async (db, kind) => {
    if (kind !== 'postgres') return;
    await sql`
      CREATE TABLE background_claims (
        work text PRIMARY KEY, owner text NOT NULL, held_until timestamptz NOT NULL)`.execute(db);
    await sql`INSERT INTO background_claims VALUES ('all', '', '-infinity')`.execute(db);
  },
};
