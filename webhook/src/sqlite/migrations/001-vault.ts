import type { Migration } from '@svault/server-kit/sqlite';

/**
 * Root keys, records, proxy configs and the own log.
 *
 * Times are milliseconds since 1970. `settings` is the text that was authenticated when the record was sealed; the
 * columns beside it repeat what lists select by.
 */
export const vaultMigration: Migration = {
  id: 1,
  name: 'vault',
  phase: 'expand',
  sql: `
    CREATE TABLE master_keys (
      id TEXT PRIMARY KEY,
      state TEXT NOT NULL UNIQUE CHECK (state IN ('current', 'next')),
      check_value BLOB NOT NULL,
      kdf TEXT,
      link BLOB
    ) STRICT;

    CREATE TABLE versions (
      kind TEXT NOT NULL CHECK (kind IN ('record', 'proxy')),
      name TEXT NOT NULL,
      last INTEGER NOT NULL,
      PRIMARY KEY (kind, name)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE records (
      row INTEGER PRIMARY KEY,
      service_name TEXT NOT NULL,
      version INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      retired_at INTEGER,
      expiry_time INTEGER,
      settings TEXT NOT NULL,
      data_key BLOB NOT NULL,
      body BLOB NOT NULL,
      UNIQUE (service_name, version)
    ) STRICT;
    CREATE UNIQUE INDEX records_live ON records (service_name) WHERE retired_at IS NULL;
    CREATE INDEX records_retired ON records (retired_at) WHERE retired_at IS NOT NULL;

    CREATE TABLE proxy_configs (
      proxy_id TEXT PRIMARY KEY,
      service_name TEXT NOT NULL,
      upstream_url TEXT NOT NULL,
      header_templates TEXT NOT NULL,
      kind TEXT CHECK (kind = 'http'),
      query_templates TEXT,
      redirects TEXT,
      signing TEXT,
      version INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE epochs (
      epoch TEXT PRIMARY KEY,
      position INTEGER NOT NULL UNIQUE,
      started_at INTEGER NOT NULL,
      restored INTEGER NOT NULL CHECK (restored IN (0, 1)),
      seq INTEGER NOT NULL,
      hash TEXT NOT NULL
    ) STRICT;

    CREATE TABLE audit_log (
      row INTEGER PRIMARY KEY,
      epoch TEXT NOT NULL,
      seq INTEGER NOT NULL,
      hash TEXT NOT NULL,
      source TEXT NOT NULL CHECK (source IN ('webhook', 'service')),
      id TEXT NOT NULL,
      event_type TEXT NOT NULL,
      timestamp TEXT NOT NULL,
      outcome TEXT NOT NULL,
      agent_id TEXT,
      proxy_id TEXT,
      user_id TEXT,
      service_name TEXT,
      count INTEGER,
      detail TEXT
    ) STRICT;
    CREATE UNIQUE INDEX audit_log_service_ids ON audit_log (id) WHERE source = 'service';
    CREATE INDEX audit_log_agents ON audit_log (agent_id) WHERE agent_id IS NOT NULL;
    CREATE INDEX audit_log_services ON audit_log (service_name) WHERE service_name IS NOT NULL;
  `,
};
