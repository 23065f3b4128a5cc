import type { SchemaMigration } from './schema-migration.ts';

/** So that no statement of a request reads more rows than it answers with, however large the tables grow. */
export const indexes: SchemaMigration = {
  id: 4,
  name: 'indexes',
  up: async (db) => {
    // With the vault's id in front: beside `grants_by_service` the planner would not choose `grants_by_agent`.
    await db.schema
      .createIndex('grants_of_agent')
      .on('grants')
      .columns(['vault_id', 'agent_id', 'service_name'])
      .execute();
    await db.schema.createIndex('sessions_by_end').on('sessions').column('expires_at').execute();
    await db.schema.createIndex('sessions_by_use').on('sessions').column('last_used_at').execute();
    await db.schema.createIndex('login_links_by_end').on('login_links').column('expires_at').execute();
    await db.schema
      .createIndex('admin_keys_by_user')
      .on('admin_keys')
      .columns(['user_id', 'origin'])
      .execute();
    await db.schema
      .createIndex('users_by_owner')
      .on('users')
      .columns(['is_owner', 'created_at', 'id'])
      .execute();
  },
};
