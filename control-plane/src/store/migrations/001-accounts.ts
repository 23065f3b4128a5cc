import { type SchemaMigration, createIndex } from './schema-migration.ts';

/**
 * Accounts: a vault and its users, and what a user proves their identity by: admin keys, login links, sessions, a
 * password, an identity at the operator's provider. A removed user stays as a row without address, because agents and
 * events name it.
 */
export const accounts: SchemaMigration = {
  id: 1,
  name: 'accounts',
  phase: 'expand',
  up: async (db) => {
    await db.schema
      .createTable('vaults')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('locked_at', 'text')
      .addColumn('revision', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute();

    await db.schema
      .createTable('users')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('email', 'text', (column) => column.notNull().unique())
      .addColumn('name_key', 'text', (column) => column.notNull())
      .addColumn('role', 'text', (column) => column.notNull())
      .addColumn('is_owner', 'integer', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('deleted_at', 'text')
      .execute();
    await createIndex(db, 'users_by_vault', 'users', ['vault_id', 'created_at', 'id']);
    await createIndex(db, 'users_by_owner', 'users', ['is_owner', 'created_at', 'id']);

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
    await createIndex(db, 'admin_keys_by_vault', 'admin_keys', ['vault_id', 'created_at', 'id']);
    await createIndex(db, 'admin_keys_by_user', 'admin_keys', ['user_id', 'origin']);

    await db.schema
      .createTable('login_links')
      .addColumn('token_hash', 'text', (column) => column.primaryKey())
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
      .addColumn('expires_at', 'text', (column) => column.notNull())
      .execute();
    await createIndex(db, 'login_links_by_end', 'login_links', ['expires_at']);
    await createIndex(db, 'login_links_by_user', 'login_links', ['user_id']);

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
      .addColumn('method', 'text')
      .execute();
    await createIndex(db, 'sessions_by_vault', 'sessions', ['vault_id', 'created_at', 'id']);
    await createIndex(db, 'sessions_by_user', 'sessions', ['user_id']);
    await createIndex(db, 'sessions_by_end', 'sessions', ['expires_at']);
    await createIndex(db, 'sessions_by_use', 'sessions', ['last_used_at']);
    // Sessions of different kinds end after different idle times.
    await createIndex(db, 'sessions_by_kind_and_use', 'sessions', ['kind', 'last_used_at']);

    await db.schema
      .createTable('passwords')
      .addColumn('user_id', 'text', (column) => column.primaryKey().references('users.id'))
      .addColumn('password_hash', 'text', (column) => column.notNull())
      .addColumn('changed_at', 'text', (column) => column.notNull())
      .execute();

    await db.schema
      .createTable('identities')
      .addColumn('issuer', 'text', (column) => column.notNull())
      .addColumn('subject', 'text', (column) => column.notNull())
      .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('identities_primary', ['issuer', 'subject'])
      .execute();
    // One identity per provider: a person to whom the provider gave a former user's address must not sign in as that user.
    await db.schema
      .createIndex('identities_by_user')
      .unique()
      .on('identities')
      .columns(['user_id', 'issuer'])
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

    await db.schema
      .createTable('attention_marks')
      .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
      .addColumn('item_id', 'text', (column) => column.notNull())
      .addColumn('seen_at', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('attention_marks_primary', ['user_id', 'item_id'])
      .execute();
  },
};
