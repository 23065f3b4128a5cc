import { closeSync, existsSync, fsyncSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeDataDir, vaultPath } from './vault-file.ts';

/**
 * Puts a backup into an empty data folder: written beside its place, and moved into place as the last step, so that a
 * kill or a refusal leaves no half vault behind.
 *
 * @param makeCopy writes the database to a path in the folder, changes what a restore changes, and closes it again
 * @throws Error when the folder holds anything
 */
export async function placeRestoredFile(
  dataDir: string,
  makeCopy: (path: string) => Promise<void>,
): Promise<void> {
  const made = !existsSync(dataDir);
  if (!made && readdirSync(dataDir).length > 0)
    throw new Error(`${dataDir} is not empty: a backup is restored into an empty folder`);
  makeDataDir(dataDir);
  const copy = join(dataDir, 'restoring.db');
  try {
    await makeCopy(copy);
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
