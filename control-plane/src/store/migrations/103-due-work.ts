import { sql } from 'kysely';
import type { SchemaMigration } from './schema-migration.ts';

/** What the background jobs look for several times a second, found without a look at every account. */
export const dueWork: SchemaMigration = {
  id: 103,
  name: 'due-work',
  up: async (db) => {
    await db.schema
      .createIndex('audit_chains_unshipped')
      .on('audit_chains')
      .column('vault_id')
      .where(sql<boolean>`shipped_seq < head_seq`)
      .execute();
    await db.schema
      .createIndex('webhook_links_pending')
      .on('webhook_links')
      .column('vault_id')
      .where(sql<boolean>`pending_key_id is not null`)
      .execute();
  },
};
