import { refusal } from '../core/errors.ts';

/** Runs a few pieces of work at a time, keeps a few more waiting, and refuses the rest. */
export type WorkQueue = <T>(work: () => Promise<T>) => Promise<T>;

/** When to come again where the queue is full. */
const RETRY_AFTER_SECONDS = 2;

/** @throws from the returned function, AppError UNAVAILABLE where `waiting` pieces wait already */
export function createWorkQueue({
  running,
  waiting,
}: {
  readonly running: number;
  readonly waiting: number;
}): WorkQueue {
  let free = running;
  const queue: (() => void)[] = [];
  const turn = async (): Promise<void> => {
    if (free > 0) return void free--;
    if (queue.length >= waiting)
      throw refusal('UNAVAILABLE', 'Too many people sign in at this moment; try again.', {
        details: { retryAfter: RETRY_AFTER_SECONDS },
      });
    // Whoever ends hands the turn on, so that nobody who comes later slips in.
    await new Promise<void>((resolve) => queue.push(resolve));
  };
  return async (work) => {
    await turn();
    try {
      return await work();
    } finally {
      const next = queue.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}
