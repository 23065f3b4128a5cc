import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { makeDataDir, vaultPath } from './vault-file.ts';

/**
 * Puts a backup into an empty data folder: copied beside its place, prepared there, and moved into place as the last
 * step, so that a kill or a refusal leaves no half vault behind.
 *
 * @param prepare opens the copy, changes what a restore changes, and closes it again
 * @throws Error when the folder holds anything
 */
export async function placeRestoredFile(
  backup: string,
  dataDir: string,
  prepare: (copy: string) => Promise<void>,
): Promise<void> {
  if (!existsSync(backup)) throw new Error(`${backup} does not exist`);
  const made = !existsSync(dataDir);
  if (!made && readdirSync(dataDir).length > 0)
    throw new Error(`${dataDir} is not empty: a backup is restored into an empty folder`);
  makeDataDir(dataDir);
  const copy = join(dataDir, 'restoring.db');
  try {
    copyFileSync(backup, copy);
    // The backup may have been carried about under another mode.
    chmodSync(copy, 0o600);
    await prepare(copy);
    syncToDisk(copy);
    renameSync(copy, vaultPath(dataDir));
    syncToDisk(dataDir);
  } catch (error) {
    for (const suffix of ['', '-wal', '-shm']) rmSync(copy + suffix, { force: true });
    if (made) rmSync(dataDir, { recursive: true });
    throw error;
  }
}

function syncToDisk(path: string): void {
  const handle = openSync(path, 'r');
  fsyncSync(handle);
  closeSync(handle);
}
