import { type SqliteDatabase, isBusy } from './sqlite.ts';

export interface GroupCommit {
  /**
   * Runs `work` together with others in one transaction and settles after its fsync: what was resolved is on the
   * disk. `work` must be synchronous, touch nothing but the database, and bear being run again (it is, when another
   * work of its group throws).
   *
   * @param callers how many callers wait for this work, asked when it is done; one unless told
   */
  run<T>(work: () => T, callers?: () => number): Promise<T>;
}

interface Job {
  readonly work: () => unknown;
  readonly callers: () => number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** Answers one job, after the commit. */
type Answer = () => void;

const ONE_CALLER = (): number => 1;
/** When so many waited for the last commit, the next one is likely to have company too. */
const COMPANY = 4;
/** How long a group then gathers. A commit costs about as much as ten requests' other work. */
const GATHER_MS = 1;

/**
 * One fsync for all writes of a moment: about ten times the rate of one fsync a request, at the same durability.
 *
 * A lone work is written in the same turn of the event loop. Under load a group gathers for a millisecond first (as
 * PostgreSQL's commit_delay and commit_siblings do): requests are answered by the batch, and the commit is paid once.
 *
 * A work that throws rejects alone: its group is rolled back and each work runs once more in a transaction of
 * its own. While somebody else's transaction is open on the connection, the group waits for the next turn. Where another
 * process keeps the file for longer than the busy timeout, the whole group is rejected.
 */
export function createGroupCommit(db: SqliteDatabase): GroupCommit {
  let queue: Job[] = [];
  let lastCallers = 0;
  const inOneTransaction = db.transaction((jobs: readonly Job[]): Answer[] =>
    jobs.map(({ work, resolve }) => {
      const value = work();
      return () => resolve(value);
    }),
  );

  const schedule = (): void => {
    if (lastCallers >= COMPANY) setTimeout(commit, GATHER_MS);
    else setImmediate(commit);
  };

  const commit = (): void => {
    if (db.inTransaction) return void setImmediate(commit);
    const jobs = queue;
    queue = [];
    const answers = commitJobs(jobs);
    lastCallers = jobs.reduce((sum, { callers }) => sum + callers(), 0);
    for (const answer of answers) answer();
  };

  const commitJobs = (jobs: readonly Job[]): readonly Answer[] => {
    try {
      return inOneTransaction.immediate(jobs);
    } catch (error) {
      // Another process holds the file, and this one waited for it as long as it may: not once more for each work.
      if (isBusy(error)) return jobs.map((job) => () => job.reject(error));
      const [only, ...others] = jobs;
      if (only !== undefined && others.length === 0) return [() => only.reject(error)];
      return jobs.flatMap((job) => commitJobs([job]));
    }
  };

  return {
    run: <T>(work: () => T, callers = ONE_CALLER): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        queue.push({ work, callers, resolve: resolve as (value: unknown) => void, reject });
        if (queue.length === 1) schedule();
      }),
  };
}
