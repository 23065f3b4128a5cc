import { type SchemaMigration, createIndex } from './schema-migration.ts';

/**
 * What was put before people. The uses of an approved one are rows of `policy_usage` under its id, so that the transaction
 * that records an access decides on them as on those of `max_usage`.
 */
export const approvals: SchemaMigration = {
  id: 12,
  name: 'approvals',
  phase: 'expand',
  up: async (db) => {
    await db.schema
      .createTable('approvals')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('caller_type', 'text', (column) => column.notNull())
      .addColumn('caller_id', 'text', (column) => column.notNull())
      .addColumn('service_name', 'text', (column) => column.notNull())
      .addColumn('request_key', 'text', (column) => column.notNull())
      .addColumn('request', 'text')
      .addColumn('reason', 'text')
      .addColumn('asked_at', 'text', (column) => column.notNull())
      .addColumn('expires_at', 'text', (column) => column.notNull())
      .addColumn('decision', 'text')
      .addColumn('decided_at', 'text')
      .addColumn('decided_by', 'text')
      .addColumn('uses', 'integer', (column) => column.notNull())
      .addColumn('valid_seconds', 'integer', (column) => column.notNull())
      .addColumn('webhook_approval_id', 'text')
      .addColumn('url', 'text')
      .execute();
    await createIndex(db, 'approvals_by_vault', 'approvals', ['vault_id', 'asked_at', 'id']);
    await createIndex(db, 'approvals_by_request', 'approvals', ['vault_id', 'request_key', 'asked_at', 'id']);
    await createIndex(db, 'approvals_by_caller', 'approvals', ['vault_id', 'caller_id', 'expires_at']);
    await createIndex(db, 'approvals_by_service', 'approvals', ['vault_id', 'service_name', 'expires_at']);
    await createIndex(db, 'approvals_by_webhook', 'approvals', ['vault_id', 'webhook_approval_id']);
    await createIndex(db, 'approvals_by_end', 'approvals', ['expires_at']);
    // Operations that the record at the webhook asks an approval for, as far as that is known here.
    await db.schema.alterTable('tokens').addColumn('approval', 'text').execute();
    await db.schema
      .alterTable('vaults')
      .addColumn('access_requests', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
  },
};
