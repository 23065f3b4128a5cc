import type { Migration } from '@svault/server-kit/sqlite';

/**
 * What authenticates the rows of 101 as a whole (see sqlite/binding-state.ts). `generation` rises with each change;
 * `restored` is 1 from a restore until `unseal-bind`.
 */
export const bindingStateMigration: Migration = {
  id: 110,
  name: 'binding state',
  phase: 'expand',
  sql: `
    CREATE TABLE binding_state (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      generation INTEGER NOT NULL,
      restored INTEGER NOT NULL CHECK (restored IN (0, 1)),
      mac BLOB NOT NULL
    ) STRICT;
  `,
};
