import { sql } from 'kysely';
import { type SchemaMigration, createIndex } from './schema-migration.ts';

/**
 * Agents and their grants. `key_wrapped` is the agent's own key under the root key, kept for Reveal; no column can hold a
 * credential's value. `name_hash` is null for a deleted agent, whose name is free. The indexes let no statement of a request read more rows than it answers with.
 */
export const agents: SchemaMigration = {
  id: 3,
  name: 'agents',
  phase: 'expand',
  up: async (db) => {
    await db.schema
      .createTable('agents')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('owner_id', 'text', (column) => column.notNull().references('users.id'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('name_key', 'text', (column) => column.notNull())
      .addColumn('name_hash', 'text')
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
    // The last two are what lists are searched by: SQLite then reads the rows that it finds alone.
    await createIndex(db, 'agents_by_vault', 'agents', [
      'vault_id',
      'created_at',
      'id',
      'status',
      'name_key',
    ]);
    await db.schema
      .createIndex('agents_by_name')
      .unique()
      .on('agents')
      .columns(['vault_id', 'name_hash'])
      .execute();
    await createIndex(db, 'agents_by_status', 'agents', ['vault_id', 'status', 'created_at', 'id']);
    await db.schema
      .createIndex('agents_active')
      .on('agents')
      .column('vault_id')
      .where(sql<boolean>`status = 'active'`)
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
    await createIndex(db, 'grants_by_service', 'grants', ['vault_id', 'service_name', 'agent_id']);
    // Begins with the vault's id, because the planner prefers `grants_by_service` to `grants_by_agent`.
    await createIndex(db, 'grants_of_agent', 'grants', ['vault_id', 'agent_id', 'service_name']);
    await createIndex(db, 'grants_by_end', 'grants', ['vault_id', 'grant_expires_at']);
  },
};
