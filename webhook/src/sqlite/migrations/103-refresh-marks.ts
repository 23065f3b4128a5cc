import type { Migration } from '@svault/server-kit/sqlite';

/**
 * What is known of stored refresh tokens (PROTOCOL.md section 7). A mark belongs to one version of a record, live or
 * kept, and goes with it. Times are milliseconds since 1970.
 */
export const refreshMarksMigration: Migration = {
  id: 103,
  name: 'refresh marks',
  phase: 'expand',
  sql: `
    CREATE TABLE refresh_marks (
      service_name TEXT NOT NULL,
      version INTEGER NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('may_be_spent', 'reauth_needed')),
      since INTEGER NOT NULL,
      PRIMARY KEY (service_name, version),
      FOREIGN KEY (service_name, version) REFERENCES records (service_name, version) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID;
  `,
};
