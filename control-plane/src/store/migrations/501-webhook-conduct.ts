import { sql } from 'kysely';
import type { SchemaMigration } from './schema-migration.ts';

/**
 * Which webhooks are put aside by background work, until when and why (`webhook/set-aside.ts`); and, in PostgreSQL, which
 * are offline: by the database's clock, for all processes (`store/webhook-outages-postgres.ts`). On SQLite there is one process.
 */
export const webhookConduct: SchemaMigration = {
  id: 501,
  name: 'webhook-conduct',
  up: async (db, kind) => {
    await db.schema.alterTable('webhook_links').addColumn('aside_until', 'text').execute();
    await db.schema.alterTable('webhook_links').addColumn('aside_reason', 'text').execute();
    await db.schema
      .alterTable('webhook_links')
      .addColumn('aside_strikes', 'integer', (column) => column.notNull().defaultTo(0))
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
