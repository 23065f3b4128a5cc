import type { Migration } from '@svault/server-kit/sqlite';

/**
 * The binding to one service: who it is, the keys of it, the latest code, the set-up token's hash.
 *
 * `secret` columns are wrapped under the root key. One key per state and one code at most: a new pending key or
 * code replaces the former one. Times are milliseconds since 1970.
 */
export const bindingMigration: Migration = {
  id: 101,
  name: 'binding',
  phase: 'expand',
  sql: `
    CREATE TABLE binding (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      webhook_id TEXT NOT NULL,
      service_base_url TEXT NOT NULL,
      vault_id TEXT NOT NULL,
      complete INTEGER NOT NULL CHECK (complete IN (0, 1))
    ) STRICT;

    CREATE TABLE binding_keys (
      row INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      state TEXT NOT NULL UNIQUE CHECK (state IN ('current', 'pending', 'former')),
      secret BLOB NOT NULL,
      valid_until INTEGER,
      CHECK ((state = 'former') = (valid_until IS NOT NULL))
    ) STRICT;

    CREATE TABLE binding_code (
      row INTEGER PRIMARY KEY CHECK (row = 1),
      code_hash BLOB NOT NULL,
      expires_at INTEGER NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('live', 'used', 'expired')),
      secret BLOB,
      CHECK ((state = 'live') = (secret IS NOT NULL))
    ) STRICT;

    CREATE TABLE setup_token (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      hash BLOB NOT NULL
    ) STRICT;
  `,
};
