import type { Migration } from '@svault/server-kit/sqlite';

/**
 * Approvers, the links by which they enrol, and what they are asked (PROTOCOL.md section 5.10). `mac` columns
 * authenticate a row under the root key; an approval has one from when it is asked until it is denied. `match` and `standing_match`
 * are what a use is found by. Times are milliseconds since 1970.
 */
export const approvalsMigration: Migration = {
  id: 111,
  name: 'approvals',
  phase: 'expand',
  sql: `
    CREATE TABLE approvers (
      row INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      name TEXT NOT NULL,
      credential_id TEXT NOT NULL UNIQUE,
      public_key BLOB NOT NULL,
      counter INTEGER NOT NULL,
      added_at INTEGER NOT NULL,
      mac BLOB NOT NULL
    ) STRICT;

    CREATE TABLE approver_links (
      code_hash BLOB PRIMARY KEY,
      name TEXT,
      expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE approvals (
      row INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      service_name TEXT NOT NULL,
      sub TEXT NOT NULL,
      match TEXT NOT NULL,
      standing_match TEXT,
      text TEXT,
      shown TEXT,
      asked_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      status TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'denied', 'used', 'ended')),
      standing_seconds INTEGER,
      decided_at INTEGER,
      approver_id TEXT,
      mac BLOB,
      CHECK ((status IN ('approved', 'used')) <= (mac IS NOT NULL))
    ) STRICT;
    CREATE INDEX approvals_match ON approvals (match);
    CREATE INDEX approvals_standing ON approvals (standing_match) WHERE standing_seconds IS NOT NULL;
    CREATE INDEX approvals_sub ON approvals (sub, asked_at);
    CREATE INDEX approvals_open ON approvals (status, expires_at);
  `,
};
