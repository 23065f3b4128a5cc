import { type Migration, openPlain, openSqlite } from '@svault/server-kit/sqlite';
import { BEGINS, migrateThroughKills } from '@svault/test-kit/migrate-through-kills';
import { join } from 'node:path';
import { expect } from 'vitest';
import { MIGRATIONS } from '../../src/sqlite/schema.ts';
import type { BoundWebhook } from './bound-webhook.ts';
import { FIRST, ROWS, withSteps } from './many-steps.ts';

/** More than a run makes before the kill hits it. */
const STEPS_PER_RUN = 60;

/**
 * Kills a program in the middle of migrations: the former program's database has whole steps then, running the new one again
 * goes on, and the former one serves what it had stored.
 */
export async function killMigrations(webhook: BoundWebhook, kills: number): Promise<void> {
  await webhook.store('kept', { tokenType: 'PlainText', value: 'first' });
  await webhook.stop();
  const path = join(webhook.dataDir, 'webhook.db');
  const within = <T>(work: (db: ReturnType<typeof openPlain>) => T): T => {
    const db = openPlain(path);
    try {
      return work(db);
    } finally {
      db.close();
    }
  };
  // As programs before 0.1.0 made the table.
  within((db) =>
    db.exec(`ALTER TABLE schema_migrations DROP COLUMN compatible_from;
      ALTER TABLE schema_migrations DROP COLUMN applied_by`),
  );
  const wholeSteps = (): number =>
    within((db) => {
      const steps = `SELECT id FROM schema_migrations WHERE id >= ${FIRST} ORDER BY id`;
      const ids = db.prepare<[], number>(steps).pluck().all();
      expect(ids).toEqual(ids.map((_, at) => FIRST + at));
      const tables =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'step%' ORDER BY rowid";
      expect(db.prepare<[], string>(tables).pluck().all()).toEqual(ids.map((id) => `step_${id}`));
      for (const id of ids.slice(-STEPS_PER_RUN))
        expect(db.prepare(`SELECT count(*) FROM step_${id}`).pluck().get()).toBe(ROWS);
      return ids.length;
    });

  const module = JSON.stringify(new URL('./many-steps.ts', import.meta.url).href);
  const script = `const { migrateStepwise } = await import(${module});
    migrateStepwise(${JSON.stringify(path)}, ${kills * STEPS_PER_RUN}, () => process.stdout.write('${BEGINS}\\n'));`;
  const seen: number[] = [];
  await migrateThroughKills({ script, kills, afterKill: () => void seen.push(wholeSteps()) });
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));

  const count = wholeSteps() + 3;
  const migrations: readonly Migration[] = withSteps(MIGRATIONS, count);
  openSqlite(path, { migrations }).close();
  expect(wholeSteps()).toBe(count);
  expect(within((db) => db.pragma('integrity_check', { simple: true }))).toBe('ok');
  // The program from before goes on with it.
  await webhook.restart();
  expect((await webhook.credential('kept')).json.token.accessToken).toBe('first');
}
