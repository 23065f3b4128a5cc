import type { SchemaMigration } from './schema-migration.ts';

/**
 * The last attempt to refresh a token on schedule: of which version, how many in a row came to nothing, and when the next may
 * be (`refresh/attempt-store.ts`).
 */
export const refreshAttempts: SchemaMigration = {
  id: 403,
  name: 'refresh attempts',
  up: async (db) => {
    await db.schema
      .createTable('refresh_attempts')
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('service_name', 'text', (column) => column.notNull())
      .addColumn('version', 'bigint', (column) => column.notNull())
      .addColumn('failures', 'integer', (column) => column.notNull())
      .addColumn('next_at', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('refresh_attempts_primary', ['vault_id', 'service_name'])
      .execute();
    await db.schema
      .createIndex('refresh_attempts_by_time')
      .on('refresh_attempts')
      .column('next_at')
      .execute();
  },
};
