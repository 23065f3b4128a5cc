import type { SchemaMigration } from './schema-migration.ts';

/** Folders, and which tokens are in them. */
export const folders: SchemaMigration = {
  id: 21,
  name: 'folders',
  up: async (db) => {
    await db.schema
      .createTable('folders')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('updated_at', 'text', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('folders_by_vault')
      .on('folders')
      .columns(['vault_id', 'created_at', 'id'])
      .execute();

    await db.schema
      .createTable('folder_tokens')
      .addColumn('vault_id', 'text', (column) => column.notNull())
      .addColumn('folder_id', 'text', (column) => column.notNull().references('folders.id'))
      .addColumn('service_name', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('folder_tokens_primary', ['folder_id', 'service_name'])
      .addForeignKeyConstraint('folder_tokens_token', ['vault_id', 'service_name'], 'tokens', [
        'vault_id',
        'service_name',
      ])
      .execute();
    await db.schema
      .createIndex('folder_tokens_by_token')
      .on('folder_tokens')
      .columns(['vault_id', 'service_name', 'folder_id'])
      .execute();
  },
};
