import type { SchemaMigration } from './schema-migration.ts';

/** The webhook of each vault, with its keys under the master key, and the heads of its log that were seen. */
export const webhookLinks: SchemaMigration = {
  id: 102,
  name: 'webhook-links',
  up: async (db) => {
    await db.schema
      .createTable('webhook_links')
      .addColumn('vault_id', 'text', (column) => column.primaryKey().references('vaults.id'))
      .addColumn('webhook_id', 'text', (column) => column.notNull())
      .addColumn('url', 'text', (column) => column.notNull())
      .addColumn('key_id', 'text', (column) => column.notNull())
      .addColumn('key_wrapped', 'text', (column) => column.notNull())
      .addColumn('pending_key_id', 'text')
      .addColumn('pending_key_wrapped', 'text')
      .addColumn('capabilities', 'text', (column) => column.notNull())
      .addColumn('bound_at', 'text', (column) => column.notNull())
      .addColumn('bound_by', 'text', (column) => column.notNull())
      .addColumn('last_seen_at', 'text')
      .addColumn('latency_ms', 'integer')
      .execute();

    await db.schema
      .createTable('webhook_log_heads')
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('webhook_id', 'text', (column) => column.notNull())
      .addColumn('epoch', 'text', (column) => column.notNull())
      .addColumn('seq', 'bigint', (column) => column.notNull())
      .addColumn('hash', 'text', (column) => column.notNull())
      .addColumn('seen_at', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('webhook_log_heads_primary', ['vault_id', 'webhook_id'])
      .execute();
  },
};
