import { Worker } from 'node:worker_threads';

/** How often new pages are moved to the main file. */
const INTERVAL_MS = 250;

/** Checkpoints the WAL in a worker thread, so that no request waits for it; truncates it once it stops growing. */
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
      // From now on the process waits for the worker's end.
      worker.ref();
      worker.postMessage('stop');
      await ended;
    },
  };
}
