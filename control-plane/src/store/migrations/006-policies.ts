import { type SchemaMigration, createIndex } from './schema-migration.ts';

/**
 * Policies, what they are attached to, and how often each rule with a lifetime limit was used there. A target is an
 * agent's id, a proxy's id, or a token's service name.
 */
export const policies: SchemaMigration = {
  id: 6,
  name: 'policies',
  phase: 'expand',
  up: async (db) => {
    await db.schema
      .createTable('policies')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('name_key', 'text', (column) => column.notNull())
      .addColumn('enabled', 'integer', (column) => column.notNull())
      .addColumn('rules', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('updated_at', 'text', (column) => column.notNull())
      .execute();
    await createIndex(db, 'policies_by_vault', 'policies', ['vault_id', 'created_at', 'id']);

    await db.schema
      .createTable('policy_attachments')
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('target_type', 'text', (column) => column.notNull())
      .addColumn('target_id', 'text', (column) => column.notNull())
      .addColumn('policy_id', 'text', (column) => column.notNull().references('policies.id'))
      .addPrimaryKeyConstraint('policy_attachments_primary', [
        'vault_id',
        'target_type',
        'target_id',
        'policy_id',
      ])
      .execute();
    await createIndex(db, 'policy_attachments_by_policy', 'policy_attachments', [
      'policy_id',
      'target_type',
      'target_id',
    ]);

    await db.schema
      .createTable('policy_usage')
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('target_type', 'text', (column) => column.notNull())
      .addColumn('target_id', 'text', (column) => column.notNull())
      .addColumn('rule_id', 'text', (column) => column.notNull())
      .addColumn('used', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('policy_usage_primary', ['vault_id', 'target_type', 'target_id', 'rule_id'])
      .execute();
    await createIndex(db, 'policy_usage_by_rule', 'policy_usage', ['rule_id']);
  },
};
