import type { SchemaMigration } from './schema-migration.ts';

/**
 * What webhooks still have to take away: settings of proxies that were revoked or deleted, until the webhook that has them
 * has answered (`proxies/config-removal.ts`). And the sessions of a client found by its id: a proxy has one as a client of
 * its upstream (`upstream-sessions/proxy-session.ts`).
 */
export const proxyUpkeep: SchemaMigration = {
  id: 404,
  name: 'proxy upkeep',
  up: async (db) => {
    await db.schema
      .createTable('proxy_removals')
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('webhook_id', 'text', (column) => column.notNull())
      .addColumn('proxy_id', 'text', (column) => column.notNull())
      .addColumn('due_at', 'text', (column) => column.notNull())
      .addColumn('tries', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint('proxy_removals_pk', ['vault_id', 'webhook_id', 'proxy_id'])
      .execute();
    await db.schema.createIndex('proxy_removals_due').on('proxy_removals').column('due_at').execute();
    await db.schema
      .createIndex('oauth_sessions_by_client')
      .on('oauth_sessions')
      .column('client_id')
      .execute();
  },
};
