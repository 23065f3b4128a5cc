import { sql } from 'kysely';
import type { SchemaMigration } from './schema-migration.ts';

/**
 * What strangers can write until a person says yes, by the group of addresses that it came from and its size
 * (`store/waiting-rows.ts`). `asked_at` is when a person was last asked about it.
 */
export const waitingRows: SchemaMigration = {
  id: 601,
  name: 'waiting rows',
  up: async (db) => {
    for (const table of ['oauth_clients', 'cli_logins'] as const) {
      await db.schema
        .alterTable(table)
        .addColumn('address_group', 'text', (column) => column.notNull().defaultTo('unknown'))
        .execute();
      await db.schema
        .alterTable(table)
        .addColumn('bytes', 'integer', (column) => column.notNull().defaultTo(1_024))
        .execute();
      await db.schema.alterTable(table).addColumn('asked_at', 'text').execute();
    }
    // With the columns of their conditions, so that sums read the index alone.
    await sql`CREATE INDEX oauth_clients_waiting ON oauth_clients (address_group, bytes, last_used_at, created_at)
      WHERE last_used_at = created_at`.execute(db);
    await sql`CREATE INDEX cli_logins_waiting ON cli_logins (user_id, address_group, bytes)
      WHERE user_id IS NULL`.execute(db);
  },
};
