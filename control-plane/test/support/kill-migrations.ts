import { newId } from '@svault/shared';
import { BEGINS, migrateThroughKills } from '@svault/test-kit/migrate-through-kills';
import { expect } from 'vitest';
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts';
import { makePlace } from './management-service.ts';
import { FIRST, ROWS, openWithSteps, withSteps } from './many-steps.ts';

/** More than a run makes before the kill hits it. */
const STEPS_PER_RUN = 40;

/**
 * Kills a program in the middle of migrations: the former program's database has whole steps then, running the new one again
 * goes on, and nothing is lost.
 */
export async function killMigrations(kills: number): Promise<void> {
  const place = await makePlace();
  try {
    const { kind, run, rows, value } = place.state;
    const url = place.env['SV_DATABASE_URL'] ?? '';
    const vaultId = newId('vlt');
    const former = await openWithSteps(url, MIGRATIONS);
    await former.stores.vaults.add({ id: vaultId, createdAt: '2026-11-20T12:00:00.000Z' });
    const sealed = former.masterKeys.wrap(Uint8Array.of(7), 'purpose');
    await former.close();
    // As programs before 0.1.0 made the table.
    for (const column of ['compatible_from', 'applied_by'])
      await run(`ALTER TABLE schema_migrations DROP COLUMN ${column}`);

    const tables =
      kind === 'postgres'
        ? "SELECT relname AS name FROM pg_class WHERE relkind = 'r'"
        : "SELECT name FROM sqlite_schema WHERE type = 'table'";
    // One statement, since what the killed process had sent may be committed meanwhile.
    const steps = `SELECT m.id, t.name FROM (SELECT id, 'step_' || id AS name FROM schema_migrations WHERE id >= ${FIRST}) m
      FULL JOIN (${tables}) t ON t.name = m.name WHERE m.id IS NOT NULL OR t.name LIKE 'step\\_%' ESCAPE '\\' ORDER BY 1`;
    const wholeSteps = async (): Promise<number> => {
      const all = await rows<{ id: number; name: string }>(steps);
      expect(all).toEqual(all.map((_, at) => ({ id: FIRST + at, name: `step_${FIRST + at}` })));
      if (all.length > 0)
        expect(await value(`SELECT count(*) FROM step_${FIRST + all.length - 1}`)).toBe(ROWS);
      return all.length;
    };
    const module = JSON.stringify(new URL('./many-steps.ts', import.meta.url).href);
    const script = `const { openWithSteps, withSteps } = await import(${module});
      await openWithSteps(${JSON.stringify(url)}, withSteps(${kills * STEPS_PER_RUN}), () => process.stdout.write('${BEGINS}\\n'));`;
    const seen: number[] = [];
    await migrateThroughKills({ script, kills, afterKill: async () => void seen.push(await wholeSteps()) });
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));

    const count = (await wholeSteps()) + 3;
    const finished = await openWithSteps(url, withSteps(count));
    expect(await wholeSteps()).toBe(count);
    expect((await finished.stores.vaults.get(vaultId))?.id).toBe(vaultId);
    expect([...finished.masterKeys.unwrap(sealed, 'purpose')]).toEqual([7]);
    await finished.close();
    for (let at = 0; at < count; at += 1) {
      const later = at < count - 1 ? 'count(later)' : '0';
      const [row] = await rows<{ n: number }>(`SELECT count(*) + ${later} AS n FROM step_${FIRST + at}`);
      expect([at, row?.n]).toEqual([at, ROWS]);
    }
    // The program from before goes on with it.
    await (await openWithSteps(url, MIGRATIONS)).close();
  } finally {
    await place.remove();
  }
}
