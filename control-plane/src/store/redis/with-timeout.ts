/** What was asked is not there in time. It may come later, and nobody waits for it any more. */
class DeadlinePassed extends Error {
  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
    this.name = 'DeadlinePassed';
  }
}

/**
 * Waits for an answer no longer than a deadline.
 *
 * An answer that has arrived counts, however late this process gets to reading it: where the process itself was busy, its
 * timers are due before it reads what has come, so that is given its turn first.
 *
 * @throws Error when the deadline has passed
 */
export function withinDeadline<T>(answer: Promise<T>, ms: number): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => reject(new DeadlinePassed(ms))), ms);
    answer.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- handed on as it came
        reject(error);
      },
    );
  });
}
