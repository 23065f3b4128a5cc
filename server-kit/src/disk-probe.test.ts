import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@svault/shared';
import { expect, onTestFinished, test } from 'vitest';
import { createDiskProbe } from './disk-probe.ts';
import { DiskFull, StorageFailure } from './storage-failure.ts';

const PAUSE_MS = 2_000;

/** @returns undefined where this user may not mount one */
function smallDisk(): string | undefined {
  const path = mkdtempSync(join(tmpdir(), 'svault-probe-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'svault-probe', path], { stdio: 'pipe' });
  } catch {
    return undefined;
  }
  onTestFinished(() => void execFileSync('umount', ['-l', path]));
  return path;
}

test('the disk probe rejects on a full disk, resolves again once there is room, and leaves no file', async ({
  skip,
}) => {
  const folder = smallDisk();
  if (folder === undefined) return skip('no tmpfs can be mounted here');
  const database = join(folder, 'some.db');
  const filler = join(folder, 'filler');
  writeFileSync(database, '');
  const clock = new ManualClock(0);
  const probe = createDiskProbe(database, clock);
  await probe();
  expect(() => writeFileSync(filler, Buffer.alloc(2 * 1024 * 1024))).toThrow('ENOSPC');
  await probe();
  clock.advance(PAUSE_MS);
  await expect(probe()).rejects.toThrow(DiskFull);
  rmSync(filler);
  await expect(probe()).rejects.toThrow(DiskFull);
  clock.advance(PAUSE_MS);
  await probe();
  expect(readdirSync(folder)).toEqual(['some.db']);
});

test('the disk probe rejects where the folder of the database is gone', async () => {
  const probe = createDiskProbe('/nowhere/at/all.db', new ManualClock(0));
  await expect(probe()).rejects.toThrow(StorageFailure);
});
