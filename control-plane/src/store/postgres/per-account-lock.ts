import { setTimeout as delay } from 'node:timers/promises';

/**
 * Mutual exclusion by key: runs the work of a key one after another, in the order of the calls.
 *
 * @param options.maxWaitMs a call that has waited longer for its key rejects with `tooLate`
 */
export function createKeyedMutex(options: {
  readonly maxWaitMs: number;
  readonly tooLate: () => Error;
}): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  /** Settles when the last work of a key has ended. */
  const ends = new Map<string, Promise<void>>();

  const isOver = async (before: Promise<void>): Promise<boolean> => {
    const waiting = new AbortController();
    const late = delay(options.maxWaitMs, false, { signal: waiting.signal, ref: false });
    try {
      return await Promise.race([before.then(() => true), late]);
    } finally {
      waiting.abort();
    }
  };

  return async (key, work) => {
    const before = ends.get(key);
    let finish: () => void = () => undefined;
    const own = new Promise<void>((resolve) => (finish = resolve));
    const end = before === undefined ? own : before.then(() => own);
    ends.set(key, end);
    try {
      if (before !== undefined && !(await isOver(before))) throw options.tooLate();
      return await work();
    } finally {
      finish();
      if (ends.get(key) === end) ends.delete(key);
    }
  };
}
