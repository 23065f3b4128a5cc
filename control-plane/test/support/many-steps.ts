import { silentLogger } from '@svault/server-kit/logger';
import { Secret, systemClock } from '@svault/shared';
import { sql } from 'kysely';
import { databaseSetting } from '../../src/config/database-setting.ts';
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts';
import type { SchemaMigration } from '../../src/store/migrations/schema-migration.ts';
import type { Database } from '../../src/store/database.ts';
import { openDatabase } from '../../src/store/open-database.ts';

/** Of the steps. */
export const FIRST = 5_000;
/** Of each step's table, so that its transaction takes some time. */
export const ROWS = 200;

/** Each makes a table, fills it, and adds a column to the table of the one before. */
const stepAt = (at: number): SchemaMigration => ({
  ...{ id: FIRST + at, name: `step ${at}`, phase: 'expand' },
  up: async (db) => {
    const table = sql.table(`step_${FIRST + at}`);
    await sql`CREATE TABLE ${table} (id integer PRIMARY KEY, body text NOT NULL)`.execute(db);
    await sql`INSERT INTO ${table} WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < ${sql.lit(ROWS)})
      SELECT i, 'row ' || i FROM r`.execute(db);
    if (at > 0)
      await sql`ALTER TABLE ${sql.table(`step_${FIRST + at - 1}`)} ADD COLUMN later text`.execute(db);
  },
});

/** Opens a database as a program with further steps does. @param onStep called before each */
export function openWithSteps(
  url: string,
  migrations: readonly SchemaMigration[],
  onStep: () => void = () => undefined,
): Promise<Database> {
  return openDatabase(databaseSetting.parse(url), [new Secret(new Uint8Array(32).fill(1))], {
    ...{ clock: systemClock, logger: silentLogger, opener: 'server' },
    migrations: migrations.map((step) => ({
      ...step,
      up: (db, kind) => {
        onStep();
        return step.up(db, kind);
      },
    })),
  });
}

export const withSteps = (count: number): readonly SchemaMigration[] => [
  ...MIGRATIONS,
  ...Array.from({ length: count }, (_, at) => stepAt(at)),
];
