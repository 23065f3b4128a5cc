import { sql } from 'kysely';
import type { SchemaMigration } from './schema-migration.ts';

/**
 * What belongs to the database and to no account: the key that wraps its secrets, itself wrapped under the operator's master
 * key; and in PostgreSQL the lease of the process that does the background work, by the database's clock, since those of
 * the processes differ. On SQLite there is one process.
 */
export const database: SchemaMigration = {
  id: 2,
  name: 'database',
  phase: 'expand',
  up: async (db, kind) => {
    await db.schema
      .createTable('sealing_keys')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('wrapped', 'text', (column) => column.notNull())
      .execute();

    if (kind !== 'postgres') return;
    await sql`
      CREATE TABLE background_claims (
        work text PRIMARY KEY, owner text NOT NULL, held_until timestamptz NOT NULL)`.execute(db);
    await sql`INSERT INTO background_claims VALUES ('all', '', '-infinity')`.execute(db);
  },
};
