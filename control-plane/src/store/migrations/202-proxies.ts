import { sql } from 'kysely';
import type { SchemaMigration } from './schema-migration.ts';

/**
 * MCP proxies (contract.md, "Management routes"); `key_wrapped` is the proxy's own key under the master key, kept for
 * Reveal. And for the account's ceiling its active agents and proxies, countable without a look at the others.
 */
export const proxies: SchemaMigration = {
  id: 202,
  name: 'proxies',
  up: async (db) => {
    await db.schema
      .createTable('proxies')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('upstream_url', 'text', (column) => column.notNull())
      .addColumn('upstream_auth_type', 'text', (column) => column.notNull())
      .addColumn('service_name', 'text')
      .addColumn('agent_id', 'text', (column) => column.references('agents.id'))
      .addColumn('header_templates', 'text')
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('key_hash', 'text', (column) => column.notNull().unique())
      .addColumn('key_prefix', 'text', (column) => column.notNull())
      .addColumn('key_wrapped', 'text')
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('revoked_at', 'text')
      .addColumn('last_used_at', 'text')
      .execute();
    await db.schema
      .createIndex('proxies_by_vault')
      .on('proxies')
      .columns(['vault_id', 'created_at', 'id'])
      .execute();
    await db.schema
      .createIndex('proxies_active')
      .on('proxies')
      .column('vault_id')
      .where(sql<boolean>`status = 'active'`)
      .execute();
    await db.schema
      .createIndex('agents_active')
      .on('agents')
      .column('vault_id')
      .where(sql<boolean>`status = 'active'`)
      .execute();
  },
};
