import type { SchemaMigration } from './schema-migration.ts';

/** Accounts: a vault, its users, and the three ways a user proves who they are. */
export const accounts: SchemaMigration = {
  id: 1,
  name: 'accounts',
  up: async (db) => {
    await db.schema
      .createTable('vaults')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('locked_at', 'text')
      .addColumn('revision', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();

    await db.schema
      .createTable('users')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('email', 'text', (column) => column.notNull().unique())
      .addColumn('role', 'text', (column) => column.notNull())
      .addColumn('is_owner', 'integer', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .execute();

    await db.schema
      .createTable('admin_keys')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('origin', 'text', (column) => column.notNull())
      .addColumn('key_hash', 'text', (column) => column.notNull().unique())
      .addColumn('key_prefix', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('last_used_at', 'text')
      .execute();
    await db.schema
      .createIndex('admin_keys_by_vault')
      .on('admin_keys')
      .columns(['vault_id', 'created_at', 'id'])
      .execute();

    await db.schema
      .createTable('login_links')
      .addColumn('token_hash', 'text', (column) => column.primaryKey())
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
      .addColumn('expires_at', 'text', (column) => column.notNull())
      .execute();

    await db.schema
      .createTable('sessions')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('token_hash', 'text', (column) => column.notNull().unique())
      .addColumn('client', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('last_used_at', 'text', (column) => column.notNull())
      .addColumn('expires_at', 'text', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('sessions_by_vault')
      .on('sessions')
      .columns(['vault_id', 'created_at', 'id'])
      .execute();
  },
};
