/** No answer came in time. One that comes later is ignored. */
class TimeoutPassed extends Error {
  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
    this.name = 'TimeoutPassed';
  }
}

/**
 * Waits for an answer up to a time limit.
 *
 * An answer that has arrived counts, however late this process reads it: in a busy process timers run before the sockets
 * are read, so the timer lets the sockets be read first.
 *
 * @throws Error after the time limit
 */
export function withTimeout<T>(answer: Promise<T>, ms: number): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => reject(new TimeoutPassed(ms))), ms);
    answer.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the answer's error, unchanged
        reject(error);
      },
    );
  });
}
