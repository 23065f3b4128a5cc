import type { Id } from '@svault/shared';
import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import type { Database } from '../../src/store/database.ts';
import { createPostgresOutages } from '../../src/store/postgres/webhook-outages.ts';
import { useStore } from './open-store.ts';

let database: Database;
let nowMs: number;

useStore((opened) => (database = opened));
beforeEach(async () => {
  nowMs = 0;
  await sql`DELETE FROM webhook_outages`.execute(database.kysely);
});

const [ONE, OTHER] = ['vlt_1' as Id<'vlt'>, 'vlt_2' as Id<'vlt'>];
/** The outages of one process. */
const process = () => createPostgresOutages(database.kysely, () => nowMs);
const processes = (count: number) => Array.from({ length: count }, process);
const began = (vaultId: Id<'vlt'>) => ({ vaultId, isOffline: true });
const ended = (vaultId: Id<'vlt'>) => ({ vaultId, isOffline: false });
/** Moves the times of all rows into the past. */
const backdate = async (seconds: number): Promise<void> => {
  const by = sql.raw(`interval '${seconds} s'`);
  await sql`UPDATE webhook_outages SET since = since - ${by}, changed_at = changed_at - ${by}, ended_at = ended_at - ${by},
    next_probe_at = next_probe_at - ${by}, probed_at = probed_at - ${by}`.execute(database.kysely);
};
/** From the last probe, whose time and the next one's are of one statement. */
const secondsToNext = async (): Promise<number> => {
  const { rows } = await sql<{
    readonly seconds: number;
  }>`SELECT extract(epoch FROM next_probe_at - probed_at)::float8 AS seconds FROM webhook_outages`.execute(
    database.kysely,
  );
  return Math.round(rows[0]?.seconds ?? 0);
};

it('one of many processes that ask at once gets a probe, and none does while it runs', async () => {
  const all = processes(8);
  await all[0]?.publish([began(ONE), began(OTHER)]);
  const given = await Promise.all(all.map((outages) => outages.takeProbes(32, [ONE])));
  expect(given.flat().toSorted()).toEqual([ONE, OTHER]);
  expect(await all[1]?.takeProbes(32, [ONE])).toEqual([]);
  await backdate(5);
  expect((await all[1]?.takeProbes(32, []))?.toSorted()).toEqual([ONE, OTHER]);
});

it('probes of an outage come every second in its first minutes, then after a sixtieth of its age, at most a minute', async () => {
  const outages = process();
  for (const [age, pause] of [
    [0, 1],
    [290, 1],
    [600, 10],
    [3_600, 60],
    [86_400, 60],
  ] as const) {
    await outages.publish([ended(ONE)]);
    await outages.publish([began(ONE)]);
    await backdate(age);
    expect(await outages.takeProbes(1, [])).toEqual([ONE]);
    await outages.probeFailed(ONE);
    expect([age, await secondsToNext()]).toEqual([age, pause]);
  }
});

it('a request in a long outage leads to a probe a second after the last one', async () => {
  const outages = process();
  await outages.publish([began(ONE)]);
  await backdate(86_400);
  await outages.takeProbes(1, []);
  await outages.probeFailed(ONE);
  // However slow the machine is, no second has passed.
  await backdate(-9);
  expect(await outages.takeProbes(1, [ONE])).toEqual([]);
  await backdate(10);
  expect(await outages.takeProbes(1, [])).toEqual([]);
  expect(await outages.takeProbes(1, [ONE])).toEqual([ONE]);
});

it('every process reads each beginning and end, and every outage after it has not polled for a while', async () => {
  const [one, other] = [process(), process()];
  expect(await other.poll()).toEqual({ offline: new Set() });
  await one.publish([began(ONE), began(OTHER)]);
  await one.publish([began(ONE)]);
  expect(await other.poll()).toMatchObject({ changes: expect.arrayContaining([began(ONE), began(OTHER)]) });
  await one.publish([ended(ONE)]);
  expect(await other.poll()).toMatchObject({ changes: expect.arrayContaining([ended(ONE)]) });
  nowMs += 5_000;
  expect(await other.poll()).toEqual({ offline: new Set([OTHER]) });
});

it('an ended outage is kept for a minute', async () => {
  const outages = process();
  await outages.publish([began(ONE), began(OTHER)]);
  await outages.publish([ended(ONE)]);
  await backdate(61);
  await outages.publish([ended(OTHER)]);
  const { rows } = await sql`SELECT vault_id FROM webhook_outages`.execute(database.kysely);
  expect(rows).toEqual([{ vault_id: OTHER }]);
});

it('a clock that was set back delays no probe', async () => {
  const outages = process();
  await outages.publish([began(ONE)]);
  await backdate(-3_600);
  expect(await outages.takeProbes(1, [])).toEqual([ONE]);
});
