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
export function startJob(
  name: string,
  work: () => Promise<unknown>,
  { pauseMs, logger }: { readonly pauseMs: number; readonly logger: Logger },
): BackgroundJob {
  let stopped = false;
  let inHand: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  const run = async (): Promise<void> => {
    try {
      await work();
    } catch (error) {
      logger.error({ err: error, job: name }, 'a background job failed; it goes on');
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
}
