import type { Migration } from '@svault/server-kit/sqlite';

/**
 * Nonces and ticket ids that were accepted, and the time floor below which they may be forgotten
 * (see replay/time-floor.ts). Times are milliseconds since 1970.
 */
export const claimsMigration: Migration = {
  id: 102,
  name: 'claims',
  phase: 'expand',
  sql: `
    CREATE TABLE claims (
      id TEXT PRIMARY KEY,
      until INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX claims_until ON claims (until);

    CREATE TABLE time_floor (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      floor INTEGER NOT NULL
    ) STRICT;
  `,
};
