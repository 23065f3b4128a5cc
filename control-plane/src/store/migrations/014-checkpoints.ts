import type { SchemaMigration } from './schema-migration.ts';

/**
 * Of each account and webhook the last checkpoint of the log that both signed (`size` 0 and no note before the first), and
 * the answer of the webhook where it cosigns no further.
 */
export const checkpoints: SchemaMigration = {
  id: 14,
  name: 'checkpoints',
  phase: 'expand',
  up: async (db) => {
    await db.schema
      .createTable('audit_checkpoints')
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('webhook_id', 'text', (column) => column.notNull())
      .addColumn('size', 'bigint', (column) => column.notNull())
      .addColumn('note', 'text')
      .addColumn('webhook_key', 'text')
      .addColumn('signed_at', 'text')
      .addColumn('refusal', 'text')
      .addColumn('refused_at', 'text')
      .addPrimaryKeyConstraint('audit_checkpoints_primary', ['vault_id', 'webhook_id'])
      .execute();
  },
};
