import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import { createLeaderLease } from '../../src/store/postgres/leader-lease.ts';
import type { Database } from '../../src/store/database.ts';
import { useStore } from './open-store.ts';

let database: Database;

useStore((opened) => (database = opened));
beforeEach(() => heldUntil('-infinity'));

/** The lease of each of several processes. */
const processes = (count: number) => Array.from({ length: count }, () => createLeaderLease(database.kysely));
const heldUntil = async (end: string): Promise<void> =>
  void (await sql`UPDATE background_claims SET held_until = ${sql.raw(`${end === '-infinity' ? `'${end}'` : end}`)}`.execute(
    database.kysely,
  ));
const left = async (): Promise<number> => {
  const { rows } = await sql<{
    readonly seconds: number;
  }>`SELECT extract(epoch FROM held_until - now())::float8 AS seconds FROM background_claims`.execute(
    database.kysely,
  );
  return rows[0]?.seconds ?? 0;
};

it('one of many processes that ask at once gets the lease, and keeps it', async () => {
  const all = processes(12);
  const first = await Promise.all(all.map((lease) => lease.acquire()));
  expect(first.filter(Boolean)).toHaveLength(1);
  for (let again = 0; again < 3; again++)
    expect(await Promise.all(all.map((lease) => lease.acquire()))).toEqual(first);
});

it('a released lease goes to another process, and a release without the lease changes nothing', async () => {
  const [one, other] = processes(2);
  expect([await one?.acquire(), await other?.acquire()]).toEqual([true, false]);
  await other?.release();
  expect([await other?.acquire(), await one?.acquire()]).toEqual([false, true]);
  await one?.release();
  expect([await other?.acquire(), await one?.acquire()]).toEqual([true, false]);
});

it('the lease of a killed process goes to another one after its end', async () => {
  const [killed, other] = processes(2);
  await killed?.acquire();
  await heldUntil("now() + interval '25 s'");
  expect(await other?.acquire()).toBe(false);
  await heldUntil("now() - interval '1 ms'");
  expect(await other?.acquire()).toBe(true);
  expect(await killed?.acquire()).toBe(false);
});

it('a granted lease has at least half of its time left', async () => {
  const [one] = processes(1);
  await one?.acquire();
  await heldUntil("now() + interval '14 s'");
  expect(await one?.acquire()).toBe(true);
  expect(await left()).toBeGreaterThan(15);
});

it('a lease whose end is far in the future, after the clock was set back, is granted anew', async () => {
  const [killed, other] = processes(2);
  await killed?.acquire();
  await heldUntil("now() + interval '1 hour'");
  expect(await other?.acquire()).toBe(true);
  expect(await left()).toBeLessThanOrEqual(30);
});

it('a statement that began before another process took the lease does not get it', async () => {
  const [one] = processes(1);
  await database.kysely.transaction().execute(async (earlier) => {
    // `now()` is the time at which the transaction began.
    await sql`SELECT now()`.execute(earlier);
    expect(await one?.acquire()).toBe(true);
    expect(await createLeaderLease(earlier).acquire()).toBe(false);
  });
  expect(await one?.acquire()).toBe(true);
});

it('asking does not wait for a process that is taking the lease', async () => {
  const [one, other] = processes(2);
  await database.kysely.transaction().execute(async (transaction) => {
    await sql`SELECT FROM background_claims FOR UPDATE`.execute(transaction);
    expect(await Promise.all([one?.acquire(), other?.acquire()])).toEqual([false, false]);
  });
  expect(await one?.acquire()).toBe(true);
});

it('the lease is granted again after its table was emptied', async () => {
  const [one] = processes(1);
  await sql`DELETE FROM background_claims`.execute(database.kysely);
  await one?.acquire();
  expect(await one?.acquire()).toBe(true);
});
