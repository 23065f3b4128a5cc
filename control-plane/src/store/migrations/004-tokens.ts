import { sql } from 'kysely';
import { type SchemaMigration, createIndex } from './schema-migration.ts';

/**
 * The metadata of credentials, their folders, and the last scheduled refresh of each: of which version, how many failures
 * in a row, and when the next attempt may be.
 */
export const tokens: SchemaMigration = {
  id: 4,
  name: 'tokens',
  phase: 'expand',
  up: async (db) => {
    await db.schema
      .createTable('tokens')
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('service_name', 'text', (column) => column.notNull())
      .addColumn('name_key', 'text', (column) => column.notNull())
      .addColumn('token_type', 'text', (column) => column.notNull())
      .addColumn('display_name', 'text', (column) => column.notNull())
      .addColumn('description', 'text', (column) => column.notNull())
      .addColumn('notes', 'text', (column) => column.notNull())
      .addColumn('tags', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('updated_at', 'text', (column) => column.notNull())
      .addColumn('upstream_rejected_at', 'text')
      .addPrimaryKeyConstraint('tokens_primary', ['vault_id', 'service_name'])
      .execute();

    await db.schema
      .createIndex('tokens_rejected')
      .on('tokens')
      .columns(['vault_id', 'service_name'])
      .where(sql<boolean>`upstream_rejected_at is not null`)
      .execute();

    await db.schema
      .createTable('folders')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('name_key', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('updated_at', 'text', (column) => column.notNull())
      .execute();
    await createIndex(db, 'folders_by_vault', 'folders', ['vault_id', 'created_at', 'id']);

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
    await createIndex(db, 'folder_tokens_by_token', 'folder_tokens', [
      'vault_id',
      'service_name',
      'folder_id',
    ]);

    await db.schema
      .createTable('refresh_attempts')
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('service_name', 'text', (column) => column.notNull())
      .addColumn('version', 'bigint', (column) => column.notNull())
      .addColumn('failures', 'integer', (column) => column.notNull())
      .addColumn('next_at', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('refresh_attempts_primary', ['vault_id', 'service_name'])
      .execute();
    await createIndex(db, 'refresh_attempts_by_time', 'refresh_attempts', ['next_at']);
  },
};
