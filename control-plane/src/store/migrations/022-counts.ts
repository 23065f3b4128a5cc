import type { SchemaMigration } from './schema-migration.ts';

/** What the overview counts, found without a look at the rest; and what an account says of its set-up guide. */
export const counts: SchemaMigration = {
  id: 22,
  name: 'counts',
  up: async (db) => {
    await db.schema.createIndex('agents_by_status').on('agents').columns(['vault_id', 'status']).execute();
    await db.schema
      .createIndex('grants_by_end')
      .on('grants')
      .columns(['vault_id', 'grant_expires_at'])
      .execute();

    await db.schema
      .createTable('setup_steps')
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('step', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('marked_at', 'text', (column) => column.notNull())
      .addColumn('marked_by', 'text', (column) => column.notNull().references('users.id'))
      .addPrimaryKeyConstraint('setup_steps_primary', ['vault_id', 'step'])
      .execute();
  },
};
