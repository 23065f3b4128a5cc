import type { Logger } from '@svault/server-kit/logger';

/** Work that goes on beside the requests. */
export interface BackgroundJob {
  /** Waits for the run in hand. */
  stop(): Promise<void>;
}

/**
 * Runs a piece of work again and again, one run after another; what a run throws is logged and ends nothing.
 *
 * @param pauseMs between the end of a run and the next
 */
export type StartJob = (
  name: string,
  work: () => Promise<unknown>,
  options: { readonly pauseMs: number; readonly logger: Logger },
) => BackgroundJob;

/** Which of the processes on one database does the background work that is done once for all of them. */
export interface LeaderLease {
  /**
   * To be asked before each piece of work.
   * @returns whether it is this process; then no other one is told so in the next 15 seconds
   */
  hold(): Promise<boolean>;
  /** Lets another process go on at once. */
  release(): Promise<void>;
}

/** Of the only process on a database. */
export const SOLE_PROCESS: LeaderLease = {
  hold: () => Promise.resolve(true),
  release: () => Promise.resolve(),
};

/** By a timer. */
export const startJob: StartJob = (name, work, { pauseMs, logger }) => {
  let stopped = false;
  let inHand: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  const run = async (): Promise<void> => {
    try {
      await work();
    } catch (error) {
      // One that outlasts a stop finds the database closed.
      if (!stopped) logger.error({ err: error, job: name }, 'a background job failed; it goes on');
    }
    schedule();
  };
  const schedule = (): void => {
    if (stopped) return;
    timer = setTimeout(() => {
      inHand = run();
    }, pauseMs);
    timer.unref();
  };

  schedule();
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await inHand;
    },
  };
};
