import { statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** How often the log is looked at, and new pages of a large one are moved to the main file. */
const INTERVAL_MS = 250;
/** A log up to here, SQLite's own 1,000 pages, stays as it is while it grows: a worker takes 17 MB, and a sync for each round. */
const MAX_SMALL_LOG_BYTES = 4 * 1024 * 1024;
/** After 10 seconds without a commit a small log is moved at once, which takes a few milliseconds, and a worker ends. */
const QUIET_ROUNDS = 40;

/**
 * Checkpoints the WAL: a large one in a worker thread, so that no request waits for it, until it is empty; a small one here, once
 * nothing is written any more.
 *
 * @param options.workerQuietRounds rounds without a commit after which a worker ends
 */
export function startCheckpoints(
  databasePath: string,
  { workerQuietRounds = QUIET_ROUNDS } = {},
): { stop(): Promise<void> } {
  const log = `${databasePath}-wal`;
  let running: { readonly worker: Worker; readonly ended: Promise<void> } | undefined;
  let writtenMs = 0;
  let quietRounds = 0;

  const round = (): void => {
    if (running !== undefined) return;
    const { size, mtimeMs } = statSync(log, { throwIfNoEntry: false }) ?? { size: 0, mtimeMs: 0 };
    quietRounds = mtimeMs === writtenMs ? quietRounds + 1 : 0;
    writtenMs = mtimeMs;
    if (size > MAX_SMALL_LOG_BYTES) running = start();
    else if (size > 0 && quietRounds >= QUIET_ROUNDS) {
      quietRounds = 0;
      truncateLog(databasePath);
    }
  };
  const start = (): typeof running => {
    const worker = new Worker(new URL('./checkpoint-worker.mjs', import.meta.url), {
      workerData: { databasePath, intervalMs: INTERVAL_MS, quietRounds: workerQuietRounds },
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
    });
    worker.unref();
    // A full disk or a removed file must not end the program: the log only grows until a later round succeeds.
    worker.on('error', () => undefined);
    const ended = new Promise<void>((resolve) => {
      worker.once('exit', () => {
        running = undefined;
        resolve();
      });
    });
    return { worker, ended };
  };

  const timer = setInterval(round, INTERVAL_MS);
  timer.unref();
  return {
    stop: async () => {
      clearInterval(timer);
      if (running === undefined) return;
      // From now on the process waits for the worker's end.
      running.worker.ref();
      running.worker.postMessage('stop');
      await running.ended;
    },
  };
}

/** A busy or failing checkpoint is no fault: a later round tries again. */
function truncateLog(databasePath: string): void {
  try {
    const db = new Database(databasePath, { timeout: 0, fileMustExist: true });
    try {
      db.pragma('fullfsync = ON');
      db.pragma('wal_checkpoint(TRUNCATE)');
    } finally {
      db.close();
    }
  } catch {
    // Such as a full disk.
  }
}
