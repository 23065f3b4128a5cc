import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ManualClock, Secret, newId } from '@svault/shared';
import { type Database, openDatabase } from './database.ts';
import { rewrapSealingKey } from './sealing-key.ts';
import { createStores, createUnitOfWork } from './unit-of-work-kysely.ts';

const NOW = '2026-11-20T12:00:00.000Z';
const keyOf = (fill: number): Secret<Uint8Array> => new Secret(new Uint8Array(32).fill(fill));

let folder: string;
let database: Database;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svault-database-'));
  database = await openDatabase(join(folder, 'a', 'b.db'), [keyOf(1)]);
});
afterEach(async () => {
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

const countVaults = (): unknown => database.sqlite.prepare('SELECT count(*) FROM vaults').pluck().get();

describe('unit of work', () => {
  test('undoes everything when the work throws', async () => {
    const unitOfWork = createUnitOfWork(database.kysely, new ManualClock());
    const failed = unitOfWork.runAcross(async ({ vaults }) => {
      await vaults.add({ id: newId('vlt'), createdAt: NOW });
      throw new Error('no');
    });
    await expect(failed).rejects.toThrow('no');
    expect(countVaults()).toBe(0);
  });

  test('works that overlap follow one another, and no reader sees what may be undone', async () => {
    const clock = new ManualClock();
    const unitOfWork = createUnitOfWork(database.kysely, clock);
    const plain = createStores(database.kysely, clock);
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
    const reader = plain.vaults.get(id).then((vault) => steps.push(`reader sees ${vault?.id ?? 'nothing'}`));
    await Promise.allSettled([first, second, reader]);
    expect(steps).toEqual(['first done', 'second sees nothing', 'reader sees nothing']);
  });

  test('goes on after a failed commit', async () => {
    const unitOfWork = createUnitOfWork(database.kysely, new ManualClock());
    const orphan = unitOfWork.runAcross(async ({ loginLinks }) => {
      // The check waits for the commit, and so fails there.
      database.sqlite.pragma('defer_foreign_keys = ON');
      await loginLinks.add({ tokenHash: 'x', vaultId: newId('vlt'), userId: newId('usr'), expiresAt: NOW });
    });
    await expect(orphan).rejects.toThrow('FOREIGN KEY');
    await unitOfWork.runAcross(({ vaults }) => vaults.add({ id: newId('vlt'), createdAt: NOW }));
    expect(countVaults()).toBe(1);
  });
});

describe('the database key', () => {
  const path = (): string => join(folder, 'a', 'b.db');
  const reopen = async (...keys: [Secret<Uint8Array>, ...Secret<Uint8Array>[]]): Promise<void> => {
    await database.close();
    database = await openDatabase(path(), keys);
  };

  test('opens again under its master key, under either of two, and under no other', async () => {
    const wrapped = database.masterKeys.wrap(Uint8Array.of(7), 'purpose');
    await reopen(keyOf(1));
    expect([...database.masterKeys.unwrap(wrapped, 'purpose')]).toEqual([7]);
    await reopen(keyOf(2), keyOf(1));
    expect([...database.masterKeys.unwrap(wrapped, 'purpose')]).toEqual([7]);
    await database.close();
    await expect(openDatabase(path(), [keyOf(2)])).rejects.toThrow('SV_MASTER_KEY does not open');
    database = await openDatabase(path(), [keyOf(1)]);
  });

  test('after a rotation only the new master key opens it, and what was wrapped stays readable', async () => {
    const wrapped = database.masterKeys.wrap(Uint8Array.of(7), 'purpose');
    await rewrapSealingKey(database.kysely, { current: keyOf(1), next: keyOf(2) });
    await database.close();
    await expect(openDatabase(path(), [keyOf(1)])).rejects.toThrow('SV_MASTER_KEY does not open');
    database = await openDatabase(path(), [keyOf(2)]);
    expect([...database.masterKeys.unwrap(wrapped, 'purpose')]).toEqual([7]);
  });
});
