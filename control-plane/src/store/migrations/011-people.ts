import type { SchemaMigration } from './schema-migration.ts';

/**
 * Members beside the owner, and two more ways to prove who one is: a password, and an identity at the operator's
 * provider. A member that was removed stays as a row without address, since agents and events name it.
 */
export const people: SchemaMigration = {
  id: 11,
  name: 'people',
  up: async (db) => {
    await db.schema.alterTable('users').addColumn('deleted_at', 'text').execute();
    await db.schema
      .createIndex('users_by_vault')
      .on('users')
      .columns(['vault_id', 'created_at', 'id'])
      .execute();

    // How the session was signed in; null for one from before there was more than one way.
    await db.schema.alterTable('sessions').addColumn('method', 'text').execute();
    await db.schema.createIndex('sessions_by_user').on('sessions').column('user_id').execute();
    await db.schema.createIndex('login_links_by_user').on('login_links').column('user_id').execute();

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
    // One identity per provider: an address that the provider gave to somebody else must not bring them in.
    await db.schema
      .createIndex('identities_by_user')
      .unique()
      .on('identities')
      .columns(['user_id', 'issuer'])
      .execute();
  },
};
