import { sql } from 'kysely';
import { type SchemaMigration, createIndex } from './schema-migration.ts';

/**
 * Proxies of MCP servers and HTTP APIs. `key_wrapped` is the proxy's own key under the root key, kept for Reveal.
 * `name_hash` is null for a revoked proxy, whose name is free. Each change of the settings that the webhook keeps raises
 * `revision`, and `delivered_as` says to which webhook which revision went. `proxy_removals` are settings of revoked or
 * deleted proxies that a webhook still has to delete.
 */
export const proxies: SchemaMigration = {
  id: 7,
  name: 'proxies',
  phase: 'expand',
  up: async (db) => {
    await db.schema
      .createTable('proxies')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('name_key', 'text', (column) => column.notNull())
      .addColumn('name_hash', 'text')
      .addColumn('kind', 'text', (column) => column.notNull().defaultTo('mcp'))
      .addColumn('upstream_url', 'text', (column) => column.notNull())
      .addColumn('upstream_auth_type', 'text', (column) => column.notNull())
      .addColumn('service_name', 'text')
      .addColumn('agent_id', 'text', (column) => column.references('agents.id'))
      .addColumn('header_templates', 'text')
      .addColumn('query_templates', 'text')
      .addColumn('redirects', 'text')
      .addColumn('region', 'text')
      .addColumn('service', 'text')
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('key_hash', 'text', (column) => column.notNull().unique())
      .addColumn('key_prefix', 'text', (column) => column.notNull())
      .addColumn('key_wrapped', 'text')
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('revoked_at', 'text')
      .addColumn('last_used_at', 'text')
      .addColumn('revision', 'integer', (column) => column.notNull().defaultTo(1))
      .addColumn('delivered_as', 'text')
      .execute();
    await createIndex(db, 'proxies_by_vault', 'proxies', ['vault_id', 'created_at', 'id']);
    await db.schema
      .createIndex('proxies_by_name')
      .unique()
      .on('proxies')
      .columns(['vault_id', 'name_hash'])
      .execute();
    await db.schema
      .createIndex('proxies_active')
      .on('proxies')
      .column('vault_id')
      .where(sql<boolean>`status = 'active'`)
      .execute();
    await createIndex(db, 'proxies_by_id', 'proxies', ['vault_id', 'id', 'service_name']);
    await createIndex(db, 'proxies_by_service', 'proxies', ['vault_id', 'service_name', 'id']);
    await createIndex(db, 'proxies_of_agent', 'proxies', ['vault_id', 'agent_id', 'id', 'service_name']);

    await db.schema
      .createTable('proxy_removals')
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('webhook_id', 'text', (column) => column.notNull())
      .addColumn('proxy_id', 'text', (column) => column.notNull())
      .addColumn('due_at', 'text', (column) => column.notNull())
      .addColumn('tries', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint('proxy_removals_pk', ['vault_id', 'webhook_id', 'proxy_id'])
      .execute();
    await createIndex(db, 'proxy_removals_due', 'proxy_removals', ['due_at']);
  },
};
