import { type SchemaMigration, createIndex } from './schema-migration.ts';

/**
 * Clients of OAuth providers, for the mediated refresh (PROTOCOL.md section 7). `secret_wrapped` is the client's secret or
 * private key under the root key. `target_hash` stands for `token_url` and `client_id`, which together are longer than an
 * index takes.
 */
export const providers: SchemaMigration = {
  id: 5,
  name: 'providers',
  phase: 'expand',
  up: async (db) => {
    await db.schema
      .createTable('providers')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('token_url', 'text', (column) => column.notNull())
      .addColumn('client_id', 'text', (column) => column.notNull())
      .addColumn('target_hash', 'text', (column) => column.notNull())
      .addColumn('auth_method', 'text', (column) => column.notNull())
      .addColumn('algorithm', 'text')
      .addColumn('key_id', 'text')
      .addColumn('secret_wrapped', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('updated_at', 'text', (column) => column.notNull())
      .addUniqueConstraint('providers_by_target', ['vault_id', 'target_hash'])
      .execute();
    await createIndex(db, 'providers_by_vault', 'providers', ['vault_id', 'created_at', 'id']);
  },
};
