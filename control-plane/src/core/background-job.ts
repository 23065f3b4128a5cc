import type { Logger } from '@svault/server-kit/logger';

/** The background jobs, by the names that logs and metrics have. */
export const TASKS = [
  'denial counts',
  'withdrawn uses',
  'waiting requests',
  'token refresh',
  'webhook probes',
  'ended limits',
  'audit shipping',
  'audit checkpoints',
  'missed uses',
  'key rotation',
  'proxy removals',
  'notifications',
  'ended approvals',
  'ended sign-ins',
  'unused clients',
  'activity counts',
  'old activity counts',
  'audit retention',
] as const;
export type Task = (typeof TASKS)[number];

/** Background work. */
interface BackgroundJob {
  /** Waits for the present run. */
  stop(): Promise<void>;
}

/**
 * Repeats a piece of work, one run after another; an error of a run is logged and ends nothing.
 *
 * @param pauseMs between the end of a run and the next
 */
export type StartJob = (
  name: string,
  work: () => Promise<unknown>,
  options: { readonly pauseMs: number; readonly logger: Logger },
) => BackgroundJob;

/** Elects, among the processes on one database, the one that does the work which is done once for all of them. */
export interface LeaderLease {
  /**
   * Called before each piece of work.
   * @returns whether this process is the leader; then no other process is within the next 15 seconds
   */
  acquire(): Promise<boolean>;
  /** Releases the lease, so that another process takes over at once. */
  release(): Promise<void>;
}

/** For the only process on a database. */
export const SOLE_PROCESS: LeaderLease = {
  acquire: () => Promise.resolve(true),
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
      // A run that outlasts a stop finds the database closed.
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
