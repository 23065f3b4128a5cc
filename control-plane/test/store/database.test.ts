import { type Id, ManualClock, newId } from '@svault/shared';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../../src/store/database.ts';
import { rewrapDataKey } from '../../src/store/data-encryption-key.ts';
import { type StorePlace, keyOf, makeStorePlace } from './open-store.ts';
import { storeAccess } from './stored-access.ts';

const NOW = '2026-11-20T12:00:00.000Z';
const clock = new ManualClock();

let place: StorePlace;
let database: Database;
beforeEach(async () => {
  place = await makeStorePlace();
  database = await place.open(clock);
});
afterEach(async () => {
  await database.close();
  await place.remove();
});

const countVaults = async (): Promise<number> =>
  (await database.kysely.selectFrom('vaults').select('id').execute()).length;

describe('a unit of work', () => {
  test('rolls everything back when the work throws', async () => {
    const failed = database.unitOfWork.runAcross(async ({ vaults }) => {
      await vaults.add({ id: newId('vlt'), createdAt: NOW });
      throw new Error('no');
    });
    await expect(failed).rejects.toThrow('no');
    expect(await countVaults()).toBe(0);
  });

  test('runs the transactions of one account one after another, and readers see only committed rows', async () => {
    const { stores, unitOfWork } = database;
    const id = newId('vlt');
    const steps: string[] = [];
    const first = unitOfWork.run(id, async ({ vaults }) => {
      await vaults.add({ id, createdAt: NOW });
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      steps.push('first done');
      throw new Error('undone');
    });
    const second = unitOfWork.run(id, async ({ vaults }) => {
      steps.push(`second sees ${(await vaults.get(id)) === undefined ? 'nothing' : 'something'}`);
    });
    const reader = stores.vaults.get(id).then((vault) => vault?.id ?? 'nothing');
    await Promise.allSettled([first, second]);
    expect(steps).toEqual(['first done', 'second sees nothing']);
    expect(await reader).toBe('nothing');
  });

  test('lockForUpdate serializes a transaction whose account only reading shows', async () => {
    const { unitOfWork } = database;
    const id = newId('vlt');
    await unitOfWork.run(id, ({ vaults }) => vaults.add({ id, createdAt: NOW }));
    const lockOnce = unitOfWork.runAcross(async ({ vaults }) => {
      await vaults.lockForUpdate(id);
      if ((await vaults.get(id))?.lockedAt !== undefined) return 'locked already';
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      await vaults.setLockedAt(id, NOW);
      return 'locked';
    });
    const lockTwice = unitOfWork.run(id, async ({ vaults }) => {
      if ((await vaults.get(id))?.lockedAt !== undefined) return 'locked already';
      await vaults.setLockedAt(id, NOW);
      return 'locked';
    });
    expect((await Promise.all([lockOnce, lockTwice])).toSorted()).toEqual(['locked', 'locked already']);
  });

  test('of two accounts that take the same address at once, the later one finds it taken', async () => {
    const makeAccount = () =>
      database.unitOfWork.runAcross(async ({ users, vaults }) => {
        const known = await users.findByEmail('same@example.org');
        if (known !== undefined) return `found ${known.id}`;
        const [id, vaultId] = [newId('usr'), newId('vlt')];
        await vaults.add({ id: vaultId, createdAt: NOW });
        await users.add({
          id,
          vaultId,
          email: 'same@example.org',
          role: 'admin',
          isOwner: true,
          createdAt: NOW,
        });
        return `made ${id}`;
      });
    const outcomes = await Promise.all(Array.from({ length: 5 }, makeAccount));
    expect(new Set(outcomes.map((outcome) => outcome.split(' ')[1])).size).toBe(1);
    expect(outcomes.filter((outcome) => outcome.startsWith('made'))).toHaveLength(1);
    expect(await countVaults()).toBe(1);
  });

  test('repeats work that keeps conflicting only a few times', async () => {
    let runs = 0;
    const id = newId('vlt');
    const failed = database.unitOfWork.runAcross(async ({ vaults }) => {
      runs++;
      await vaults.add({ id, createdAt: NOW });
      await vaults.add({ id, createdAt: NOW });
    });
    await expect(failed).rejects.toThrow(/unique/i);
    expect(runs).toBeLessThan(5);
  });
});

test('agents and admin keys are read without their hash and key', async () => {
  const { vaultId, userId, agentId } = await storeAccess(database, clock);
  const { adminKeys, agents } = database.stores;
  const times = { createdAt: NOW, lastUsedAt: undefined };
  const key = { vaultId, userId, name: 'n', origin: 'api', keyPrefix: 'svadmin_', ...times } as const;
  const id: Id<'adk'> = newId('adk');
  await adminKeys.add({ id, ...key, keyHash: 'h' });
  expect(await adminKeys.findByHash('h')).toEqual({ id, ...key, role: 'admin' });
  expect(await adminKeys.list(vaultId, { limit: 1, after: undefined })).toEqual({ items: [{ id, ...key }] });
  const read = JSON.stringify(await agents.get(vaultId, agentId));
  expect([read.includes('hash'), read.includes('rapped')]).toEqual([false, false]);
});

describe('the data encryption key', () => {
  test('opens under its root key, alone or as one of two, and under no other', async () => {
    const wrapped = database.masterKeys.wrap(Uint8Array.of(7), 'purpose');
    await database.close();
    database = await place.open(clock, [keyOf(1)]);
    expect([...database.masterKeys.unwrap(wrapped, 'purpose')]).toEqual([7]);
    await database.close();
    database = await place.open(clock, [keyOf(2), keyOf(1)]);
    expect([...database.masterKeys.unwrap(wrapped, 'purpose')]).toEqual([7]);
    await database.close();
    await expect(place.open(clock, [keyOf(2)])).rejects.toThrow('SV_MASTER_KEY does not open');
    database = await place.open(clock, [keyOf(1)]);
  });

  test('opens only under the new root key after a rotation, and wrapped secrets stay readable', async () => {
    const wrapped = database.masterKeys.wrap(Uint8Array.of(7), 'purpose');
    await rewrapDataKey(database.kysely, { current: keyOf(1), next: keyOf(2) });
    await database.close();
    await expect(place.open(clock, [keyOf(1)])).rejects.toThrow('SV_MASTER_KEY does not open');
    database = await place.open(clock, [keyOf(2)]);
    expect([...database.masterKeys.unwrap(wrapped, 'purpose')]).toEqual([7]);
  });
});
