import { Worker } from 'node:worker_threads';

/** Pages written since the last look are moved to the main file this often. */
const INTERVAL_MS = 250;

/**
 * Moves the WAL into the database file from a worker thread, with its own connection, so that no request waits
 * for it. Passive while requests come; when the log stopped growing it is also cut back to nothing.
 */
export function startCheckpoints(databasePath: string): { stop(): Promise<void> } {
  const worker = new Worker(new URL('./checkpoint-worker.mjs', import.meta.url), {
    workerData: { databasePath, intervalMs: INTERVAL_MS },
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  });
  worker.unref();
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  // A full disk or a removed file must not end the program: the log only grows until a later round succeeds.
  worker.on('error', () => undefined);
  return {
    stop: async () => {
      // Until now it kept nobody alive; its end is waited for.
      worker.ref();
      worker.postMessage('stop');
      await ended;
    },
  };
}
