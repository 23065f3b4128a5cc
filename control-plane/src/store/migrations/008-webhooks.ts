import { sql } from 'kysely';
import type { SchemaMigration } from './schema-migration.ts';

/**
 * The webhook of each vault, with its keys under the root key, and the heads of its log that were seen. `aside_*`: until
 * when and why background work puts it aside. In PostgreSQL also which webhooks are offline: by the database's clock, for
 * all processes.
 */
export const webhooks: SchemaMigration = {
  id: 8,
  name: 'webhooks',
  phase: 'expand',
  up: async (db, kind) => {
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
      .addColumn('aside_until', 'text')
      .addColumn('aside_reason', 'text')
      .addColumn('aside_strikes', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
    await db.schema
      .createIndex('webhook_links_pending')
      .on('webhook_links')
      .column('vault_id')
      .where(sql<boolean>`pending_key_id is not null`)
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

    if (kind !== 'postgres') return;
    await sql`
      CREATE TABLE webhook_outages (
        vault_id text PRIMARY KEY,
        since timestamptz NOT NULL,
        changed_at timestamptz NOT NULL,
        next_probe_at timestamptz NOT NULL,
        probed_at timestamptz,
        ended_at timestamptz)`.execute(db);
    await sql`CREATE INDEX webhook_outages_changed ON webhook_outages (changed_at)`.execute(db);
    await sql`CREATE INDEX webhook_outages_due ON webhook_outages (next_probe_at) WHERE ended_at IS NULL`.execute(
      db,
    );
  },
};
