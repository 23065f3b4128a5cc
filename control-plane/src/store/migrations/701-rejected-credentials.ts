import type { SchemaMigration } from './schema-migration.ts';

/** When an upstream answered 401 to a credential; null where the last use that was answered was fine. */
export const rejectedCredentials: SchemaMigration = {
  id: 701,
  name: 'rejected-credentials',
  up: async (db) => {
    await db.schema.alterTable('tokens').addColumn('upstream_rejected_at', 'text').execute();
  },
};
