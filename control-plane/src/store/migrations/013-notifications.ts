import { type SchemaMigration, createIndex } from './schema-migration.ts';

/**
 * Channels by which people are told of approvals, and the messages that are owed to them. `address_wrapped` is the address
 * with its secret under the data encryption key.
 */
export const notifications: SchemaMigration = {
  id: 13,
  name: 'notifications',
  phase: 'expand',
  up: async (db) => {
    await db.schema
      .createTable('notification_channels')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('type', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('target', 'text', (column) => column.notNull())
      .addColumn('user_id', 'text')
      .addColumn('address_wrapped', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('last_delivered_at', 'text')
      .addColumn('last_failed_at', 'text')
      .addColumn('last_error', 'text')
      .addColumn('hour_started_at', 'text')
      .addColumn('sent_in_hour', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
    await createIndex(db, 'notification_channels_by_vault', 'notification_channels', ['vault_id', 'id']);
    await createIndex(db, 'notification_channels_by_user', 'notification_channels', ['user_id', 'id']);
    await db.schema
      .createTable('notifications')
      .addColumn('channel_id', 'text', (column) => column.notNull())
      .addColumn('approval_id', 'text', (column) => column.notNull())
      .addColumn('vault_id', 'text', (column) => column.notNull())
      .addColumn('due_at', 'text', (column) => column.notNull())
      .addColumn('tries', 'integer', (column) => column.notNull())
      .addColumn('is_summary', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint('notifications_by_channel', ['channel_id', 'approval_id'])
      .execute();
    await createIndex(db, 'notifications_by_time', 'notifications', ['due_at']);
  },
};
