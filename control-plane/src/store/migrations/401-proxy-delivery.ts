import type { SchemaMigration } from './schema-migration.ts';

/**
 * Which of a proxy's settings the webhook has: `revision` grows with each change of what is kept there, and `delivered_as`
 * says to which webhook which revision went (`proxies/config-delivery.ts`).
 */
export const proxyDelivery: SchemaMigration = {
  id: 401,
  name: 'proxy delivery',
  up: async (db) => {
    await db.schema
      .alterTable('proxies')
      .addColumn('revision', 'integer', (column) => column.notNull().defaultTo(1))
      .execute();
    await db.schema.alterTable('proxies').addColumn('delivered_as', 'text').execute();
  },
};
