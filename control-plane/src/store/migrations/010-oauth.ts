import { sql } from 'kysely';
import { type SchemaMigration, createIndex } from './schema-migration.ts';

/**
 * OAuth 2.1 for MCP clients: clients that registered themselves, codes, and the sessions of agents. A session is a row of
 * `sessions` too, where a person finds and ends it; everything of it is deleted with that row. A proxy is a client of its
 * upstream, whose sessions are found by its id. Clients that nobody used are bounded as in `009-cli-logins.ts`.
 */
export const oauth: SchemaMigration = {
  id: 10,
  name: 'oauth',
  phase: 'expand',
  up: async (db) => {
    await db.schema
      .createTable('oauth_clients')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('client_uri', 'text')
      // JSON: a list of texts.
      .addColumn('redirect_uris', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('last_used_at', 'text', (column) => column.notNull())
      .addColumn('address_group', 'text', (column) => column.notNull().defaultTo('unknown'))
      .addColumn('bytes', 'integer', (column) => column.notNull().defaultTo(1_024))
      .addColumn('asked_at', 'text')
      .execute();
    await createIndex(db, 'oauth_clients_by_use', 'oauth_clients', ['last_used_at', 'id']);
    // With the columns of the conditions, so that sums read the index alone.
    await sql`CREATE INDEX oauth_clients_waiting ON oauth_clients (address_group, bytes, last_used_at, created_at)
      WHERE last_used_at = created_at`.execute(db);

    await db.schema
      .createTable('oauth_codes')
      .addColumn('code_hash', 'text', (column) => column.primaryKey())
      .addColumn('vault_id', 'text', (column) => column.notNull().references('vaults.id'))
      .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
      .addColumn('agent_id', 'text', (column) => column.notNull().references('agents.id'))
      .addColumn('client_id', 'text', (column) => column.notNull())
      .addColumn('client_name', 'text', (column) => column.notNull())
      .addColumn('redirect_uri', 'text', (column) => column.notNull())
      .addColumn('code_challenge', 'text', (column) => column.notNull())
      .addColumn('audience', 'text', (column) => column.notNull())
      .addColumn('expires_at', 'text', (column) => column.notNull())
      .execute();
    await createIndex(db, 'oauth_codes_by_end', 'oauth_codes', ['expires_at']);
    await createIndex(db, 'oauth_codes_by_user', 'oauth_codes', ['user_id']);

    await db.schema
      .createTable('oauth_sessions')
      .addColumn('session_id', 'text', (column) =>
        column.primaryKey().references('sessions.id').onDelete('cascade'),
      )
      .addColumn('agent_id', 'text', (column) => column.notNull().references('agents.id'))
      .addColumn('client_id', 'text', (column) => column.notNull())
      .addColumn('audience', 'text', (column) => column.notNull())
      // Of the code that it was opened with, so that the code's second use ends it.
      .addColumn('code_hash', 'text', (column) => column.unique())
      // Null where nobody may refresh it.
      .addColumn('refresh_hash', 'text')
      .addColumn('former_refresh_hash', 'text')
      .addColumn('rotated_at', 'text')
      .addColumn('rotation_seed_wrapped', 'text')
      .execute();
    await createIndex(db, 'oauth_sessions_by_agent', 'oauth_sessions', ['agent_id']);
    await createIndex(db, 'oauth_sessions_by_client', 'oauth_sessions', ['client_id']);

    await db.schema
      .createTable('oauth_access_tokens')
      .addColumn('token_hash', 'text', (column) => column.primaryKey())
      .addColumn('session_id', 'text', (column) =>
        column.notNull().references('oauth_sessions.session_id').onDelete('cascade'),
      )
      .addColumn('issued_at', 'text', (column) => column.notNull())
      .addColumn('expires_at', 'text', (column) => column.notNull())
      .execute();
    await createIndex(db, 'oauth_access_tokens_by_session', 'oauth_access_tokens', ['session_id']);
    await createIndex(db, 'oauth_access_tokens_by_end', 'oauth_access_tokens', ['expires_at']);
  },
};
