import { type Migration, openSqlite } from '@svault/server-kit/sqlite';
import { MIGRATIONS } from '../../src/sqlite/schema.ts';

/** Of the steps. */
export const FIRST = 5_000;
/** Of each step's table, so that its transaction takes some time. */
export const ROWS = 2_000;

export const withSteps = (before: readonly Migration[], count: number): readonly Migration[] => [
  ...before,
  ...Array.from({ length: count }, (_, at): Migration => ({
    ...{ id: FIRST + at, name: `step ${at}`, phase: 'expand' },
    sql: `CREATE TABLE step_${FIRST + at} (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
      INSERT INTO step_${FIRST + at} WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < ${ROWS})
        SELECT i, 'row ' || i FROM r;
      ${at === 0 ? '' : `ALTER TABLE step_${FIRST + at - 1} ADD COLUMN later TEXT;`}`,
  })),
];

/** Applies the steps that are missing, as starts of ever newer programs do. @param onStep called before each start */
export function migrateStepwise(path: string, count: number, onStep: () => void): void {
  const before = openSqlite(path, { migrations: MIGRATIONS });
  const applied = before.prepare<[], number>(`SELECT count(*) FROM schema_migrations WHERE id >= ${FIRST}`);
  const first = applied.pluck().get() ?? 0;
  before.close();
  for (let at = first + 1; at <= count; at += 1) {
    onStep();
    openSqlite(path, { migrations: withSteps(MIGRATIONS, at) }).close();
  }
}
