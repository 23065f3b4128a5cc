import type { SchemaMigration } from './schema-migration.ts';

/**
 * The log, and beside it for each vault where its chain stands (`start_*`: what the oldest kept event follows, so
 * that old events can be removed) and how far its webhook has it.
 *
 * `audit_events` has no foreign key: an event outlives what it tells of.
 */
export const audit: SchemaMigration = {
  id: 101,
  name: 'audit',
  up: async (db) => {
    await db.schema
      .createTable('audit_events')
      .addColumn('vault_id', 'text', (column) => column.notNull())
      .addColumn('seq', 'bigint', (column) => column.notNull())
      .addColumn('id', 'text', (column) => column.notNull())
      .addColumn('event_type', 'text', (column) => column.notNull())
      .addColumn('outcome', 'text', (column) => column.notNull())
      .addColumn('occurred_at', 'text', (column) => column.notNull())
      .addColumn('agent_id', 'text')
      .addColumn('proxy_id', 'text')
      .addColumn('user_id', 'text')
      .addColumn('service_name', 'text')
      .addColumn('event_count', 'integer')
      .addColumn('detail', 'text')
      .addColumn('hash', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('audit_events_primary', ['vault_id', 'seq'])
      .execute();
    await db.schema
      .createIndex('audit_events_by_agent')
      .on('audit_events')
      .columns(['vault_id', 'agent_id', 'seq'])
      .execute();

    await db.schema
      .createTable('audit_chains')
      .addColumn('vault_id', 'text', (column) => column.primaryKey())
      .addColumn('head_seq', 'bigint', (column) => column.notNull())
      .addColumn('head_hash', 'text', (column) => column.notNull())
      .addColumn('start_seq', 'bigint', (column) => column.notNull())
      .addColumn('start_hash', 'text', (column) => column.notNull())
      .addColumn('shipped_seq', 'bigint', (column) => column.notNull())
      .execute();
  },
};
