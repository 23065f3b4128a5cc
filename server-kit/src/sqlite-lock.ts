import Database from 'better-sqlite3';
import { isBusy } from './sqlite.ts';

/** Another process serves on the same file. */
export class AlreadyServing extends Error {
  constructor(path: string) {
    super(`another process already serves on ${path}: stop it first, or use another file`);
    this.name = 'AlreadyServing';
  }
}

/**
 * Holds the right to be the one `serve` on a database file, until released or until the process ends.
 *
 * It is SQLite's own exclusive lock on a side file. The kernel drops it with the process, so a `kill -9` leaves
 * nothing to clean up, and other subcommands, which do not ask for it, work beside a running `serve`.
 *
 * @throws AlreadyServing at once when another process has it
 */
export function holdServeLock(databasePath: string): { release(): void } {
  const lock = new Database(`${databasePath}.serve-lock`, { timeout: 0 });
  try {
    lock.pragma('journal_mode = DELETE');
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (isBusy(error)) throw new AlreadyServing(databasePath);
    throw error;
  }
  return { release: () => void lock.close() };
}
