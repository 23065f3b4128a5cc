import type { SchemaMigration } from './schema-migration.ts';

/**
 * Agents, their grants, and the metadata of tokens. Nothing here can hold a credential's value: `key_wrapped` is
 * the agent's own key under the master key, kept for Reveal.
 */
export const agents: SchemaMigration = {
  id: 2,
  name: 'agents',
  up: async (db) => {
    await db.schema
      .createTable('agents')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('owner_id', 'text', (column) => column.notNull().references('users.id'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('description', 'text', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('mcp_enabled', 'integer', (column) => column.notNull())
      .addColumn('sealing_key_thumbprint', 'text')
      .addColumn('key_hash', 'text', (column) => column.notNull().unique())
      .addColumn('key_prefix', 'text', (column) => column.notNull())
      .addColumn('key_wrapped', 'text')
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('last_used_at', 'text')
      .execute();
    await db.schema
      .createIndex('agents_by_vault')
      .on('agents')
      .columns(['vault_id', 'created_at', 'id'])
      .execute();

    await db.schema
      .createTable('grants')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('agent_id', 'text', (column) => column.notNull().references('agents.id'))
      .addColumn('service_name', 'text', (column) => column.notNull())
      .addColumn('grant_expires_at', 'text')
      .addColumn('refresh_policy', 'text', (column) => column.notNull())
      .addColumn('source_group_id', 'text')
      .addColumn('created_at', 'text', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('grants_by_agent')
      .unique()
      .on('grants')
      .columns(['agent_id', 'service_name'])
      .execute();
    await db.schema
      .createIndex('grants_by_service')
      .on('grants')
      .columns(['vault_id', 'service_name'])
      .execute();

    await db.schema
      .createTable('tokens')
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('service_name', 'text', (column) => column.notNull())
      .addColumn('token_type', 'text', (column) => column.notNull())
      .addColumn('display_name', 'text', (column) => column.notNull())
      .addColumn('description', 'text', (column) => column.notNull())
      .addColumn('notes', 'text', (column) => column.notNull())
      .addColumn('tags', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('updated_at', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('tokens_primary', ['vault_id', 'service_name'])
      .execute();
  },
};
