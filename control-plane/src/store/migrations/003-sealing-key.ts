import type { SchemaMigration } from './schema-migration.ts';

/** One row: the key that wraps this database's secrets, itself wrapped under the operator's master key. */
export const sealingKey: SchemaMigration = {
  id: 3,
  name: 'sealing-key',
  up: async (db) => {
    await db.schema
      .createTable('sealing_keys')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('wrapped', 'text', (column) => column.notNull())
      .execute();
  },
};
