import { StorageFailure } from '@svault/server-kit/storage-failure';
import { systemClock } from '@svault/shared';
import pg from 'pg';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Database } from '../../src/store/database.ts';
import { type StorePlace, useStore } from './open-store.ts';
import { type StoredAccess, storeAccess } from './stored-access.ts';

/* A lock on one account delays no other account and no read, however long it is held. */

let place: StorePlace;
let database: Database;
let accounts: readonly StoredAccess[];
let holder: pg.Client;
/** As many as there are connections for writes of the credential path. */
const MANY = 5;

useStore((opened, at) => ([database, place] = [opened, at]));
beforeAll(async () => {
  accounts = await Promise.all(Array.from({ length: MANY + 2 }, () => storeAccess(database, systemClock)));
});
beforeEach(async () => {
  if (place.address.kind !== 'postgres') throw new Error('these are about PostgreSQL');
  holder = new pg.Client({ connectionString: place.address.url.reveal() });
  await holder.connect();
  await holder.query('BEGIN');
});
afterEach(() => holder.end());

const hold = async (held: readonly StoredAccess[]): Promise<void> => {
  for (const { vaultId } of held) await holder.query('SELECT svault_lock($1)', [vaultId]);
};
const write = ({ event, onlyIf }: StoredAccess): Promise<boolean> =>
  database.auditCommit.write({ event: event('github'), touchCaller: true, onlyIf });
const change = ({ vaultId }: StoredAccess): Promise<void> =>
  database.unitOfWork.run(vaultId, ({ vaults }) => vaults.setLockedAt(vaultId, undefined));
/** Counts settled promises without waiting for them. */
const outcomesOf = (pending: readonly Promise<unknown>[]): { readonly settled: () => number } => {
  let settled = 0;
  for (const each of pending)
    each.then(
      () => settled++,
      () => settled++,
    );
  return { settled: () => settled };
};

it('a locked account delays no other account, and continues when its lock is released', async () => {
  const [held, other] = accounts.slice(MANY) as [StoredAccess, StoredAccess];
  await hold([held]);
  const waiting = Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? write(held) : change(held)));
  const { settled } = outcomesOf(waiting);
  expect(await Promise.all(Array.from({ length: 20 }, () => write(other)))).toEqual(Array(20).fill(true));
  await Promise.all(Array.from({ length: 20 }, () => change(other)));
  expect((await database.accessStore.find(held.credential, 'github', 0))?.agentId).toBe(held.agentId);
  expect((await database.stores.vaults.get(held.vaultId))?.id).toBe(held.vaultId);
  expect(settled()).toBe(0);
  await holder.query('COMMIT');
  await Promise.all(waiting);
});

it('as many locked accounts as there are connections for writes delay no read, and each write fails in time', async () => {
  const [held, free] = [accounts.slice(0, MANY), accounts[MANY] as StoredAccess];
  await hold(held);
  const waiting = held.flatMap((account) => [write(account), write(account)]);
  const { settled } = outcomesOf(waiting);
  for (const { credential, agentId } of held)
    expect((await database.accessStore.find(credential, 'github', 0))?.agentId).toBe(agentId);
  expect((await database.accessStore.findWithGrants(free.credential, 0))?.grants).toMatchObject([
    { serviceName: 'github', refreshPolicy: 'none' },
  ]);
  expect(settled()).toBe(0);
  const outcomes = await Promise.allSettled(waiting);
  for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: expect.any(StorageFailure) });
  await holder.query('COMMIT');
  expect(await Promise.all(held.map(write))).toEqual(held.map(() => true));
  // Rejected writes are not written later.
  for (const { vaultId } of held)
    expect(
      (await database.stores.audit.after(vaultId, 0, 10)).filter(({ outcome }) => outcome === 'success'),
    ).toHaveLength(1);
});
