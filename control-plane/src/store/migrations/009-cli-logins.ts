import { sql } from 'kysely';
import { type SchemaMigration, createIndex } from './schema-migration.ts';

/**
 * The command-line client: sign-ins that wait for a person in a browser, and the tokens of those that were approved.
 * `address_group` and `bytes` bound what strangers can write (`kysely/waiting-rows.ts`); `asked_at` is when a person was
 * last asked.
 */
export const cliLogins: SchemaMigration = {
  id: 9,
  name: 'cli-logins',
  phase: 'expand',
  up: async (db) => {
    await db.schema
      .createTable('cli_logins')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('code_challenge', 'text', (column) => column.notNull())
      .addColumn('redirect_uri', 'text')
      .addColumn('user_code', 'text', (column) => column.notNull())
      .addColumn('client', 'text', (column) => column.notNull())
      .addColumn('address', 'text')
      .addColumn('expires_at', 'text', (column) => column.notNull())
      .addColumn('vault_id', 'text', (column) => column.references('vaults.id'))
      .addColumn('user_id', 'text', (column) => column.references('users.id'))
      .addColumn('code_hash', 'text', (column) => column.unique())
      .addColumn('address_group', 'text', (column) => column.notNull().defaultTo('unknown'))
      .addColumn('bytes', 'integer', (column) => column.notNull().defaultTo(1_024))
      .addColumn('asked_at', 'text')
      .execute();
    await createIndex(db, 'cli_logins_by_end', 'cli_logins', ['expires_at']);
    await createIndex(db, 'cli_logins_by_user', 'cli_logins', ['user_id']);
    // With the columns of the conditions, so that sums read the index alone.
    await sql`CREATE INDEX cli_logins_waiting ON cli_logins (user_id, address_group, bytes)
      WHERE user_id IS NULL`.execute(db);

    await db.schema
      .createTable('cli_sessions')
      .addColumn('session_id', 'text', (column) =>
        column.primaryKey().references('sessions.id').onDelete('cascade'),
      )
      .addColumn('refresh_hash', 'text', (column) => column.notNull())
      .addColumn('access_hash', 'text')
      .addColumn('access_expires_at', 'text', (column) => column.notNull())
      .addColumn('former_refresh_hash', 'text')
      .addColumn('former_access_hash', 'text')
      .addColumn('former_access_expires_at', 'text')
      .addColumn('rotated_at', 'text')
      .addColumn('rotation_seed_wrapped', 'text')
      .execute();
    await createIndex(db, 'cli_sessions_by_access_end', 'cli_sessions', ['access_expires_at']);
    await createIndex(db, 'cli_sessions_by_former_access_end', 'cli_sessions', ['former_access_expires_at']);
  },
};
