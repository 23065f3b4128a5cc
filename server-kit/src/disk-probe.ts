import { open, realpath, unlink } from 'node:fs/promises';
import type { Clock } from '@svault/shared';
import { DiskFull, StorageFailure } from './storage-failure.ts';

/** More than one request usually adds to the log of a database, so that readiness ends before requests fail. */
const PROBE = Buffer.alloc(64 * 1024);
const PAUSE_MS = 2_000;

/**
 * Checks that the file system under a SQLite database takes writes, also below a quota: writes, syncs and deletes a
 * small file next to the database.
 *
 * @returns a check for `/readyz`, which anybody may call: it runs at most every two seconds, and rejects with DiskFull or
 *   StorageFailure
 */
export function createDiskProbe(databasePath: string, clock: Pick<Clock, 'monotonic'>): () => Promise<void> {
  return withPauses(() => writeNextTo(databasePath), clock);
}

/** Runs a check with pauses; calls during a run or a pause share the latest result. */
export function withPauses(check: () => Promise<void>, clock: Pick<Clock, 'monotonic'>): () => Promise<void> {
  let latest: Promise<void> | undefined;
  let endsAtMs = Infinity;
  return () => {
    if (latest === undefined || clock.monotonic() >= endsAtMs) {
      endsAtMs = Infinity;
      latest = check().finally(() => (endsAtMs = clock.monotonic() + PAUSE_MS));
    }
    return latest;
  };
}

async function writeNextTo(databasePath: string): Promise<void> {
  try {
    const path = `${await realpath(databasePath)}.write-probe`;
    const file = await open(path, 'w', 0o600);
    try {
      // Before the write, so that a killed process leaves nothing.
      await unlink(path);
      await file.writeFile(PROBE);
      await file.datasync();
    } finally {
      await file.close();
    }
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const message = `nothing can be written next to ${databasePath}: ${code}`;
    throw code === 'ENOSPC' || code === 'EDQUOT'
      ? new DiskFull(message, { cause: error })
      : new StorageFailure(message, { cause: error });
  }
}
