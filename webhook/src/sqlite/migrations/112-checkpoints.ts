import type { Migration } from '@svault/server-kit/sqlite';

/**
 * The last checkpoint that was cosigned of each log (PROTOCOL.md section 5.11), and the seed of the key that cosigns,
 * wrapped under the root key. Times are milliseconds since 1970.
 */
export const checkpointsMigration: Migration = {
  id: 112,
  name: 'checkpoints',
  phase: 'expand',
  sql: `
    CREATE TABLE checkpoints (
      origin TEXT PRIMARY KEY,
      size INTEGER NOT NULL,
      hash TEXT NOT NULL,
      note TEXT NOT NULL,
      log_key TEXT NOT NULL,
      cosigned_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE checkpoint_key (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      seed BLOB NOT NULL
    ) STRICT;
  `,
};
