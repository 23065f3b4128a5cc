import { closeSync, fdatasync, openSync } from 'node:fs';
import { type SqliteDatabase, isBusy } from './sqlite.ts';
import { StorageFailure } from './storage-failure.ts';

/** Called after each commit. @param seconds from its start until it was on the disk */
export type ObserveCommit = (commit: { readonly writes: number; readonly seconds: number }) => void;

export interface GroupCommit {
  /**
   * Runs `work` in one transaction with all others that arrive in this turn of the event loop, or while the former group
   * is synced, and settles after the sync: what was resolved is on the disk. `work` must be synchronous, touch nothing but
   * the database, and bear being run again (it is, when another work of its group throws).
   */
  run<T>(work: () => T): Promise<T>;
}

export interface SqliteGroupCommit extends GroupCommit {
  /**
   * `run` in two steps. After `committed` the work has its place among all changes, and the end of this process does not
   * undo it; a power cut may until `durable`. Where the work or its commit fails, both reject.
   */
  begin<T>(work: () => T): { readonly committed: Promise<T>; readonly durable: Promise<void> };
  /** Resolves when all that is committed by now, and so can be read, is on the disk; undefined where it is already. */
  synced(): Promise<void> | undefined;
  /** Before the database closes. A sync under way still settles its group. */
  close(): void;
}

interface Job {
  readonly work: () => unknown;
  readonly onCommit?: (value: unknown) => void;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** What became of a job; nobody is told before the sync. */
type Outcome =
  { readonly job: Job; readonly value: unknown } | { readonly job: Job; readonly error: unknown };

/**
 * One sync for many writes, on the thread pool: the event loop goes on while the disk works. Requests that arrive
 * meanwhile are the next group, so groups grow under load by themselves; gathering longer only adds waiting.
 *
 * The connection stays at `synchronous=FULL`, where each commit syncs by itself. Only a group's own transaction leaves it
 * out, so no other write can miss its sync (docs/decisions/0010-group-commit.md).
 *
 * A work that throws rejects alone: its group is rolled back and each work runs once more in a transaction of
 * its own. While somebody else's transaction is open on the connection, the group waits for the next turn. Where another
 * process keeps the file for longer than the busy timeout, the whole group is rejected.
 *
 * A sync that fails rejects its group and all later ones, and the connection takes no more writes: the kernel may have
 * dropped what it could not write, so only a new start knows what the file holds.
 *
 * @param options.onSyncFailure ends the process, if it is one that serves
 * @param options.observe for metrics
 * @param options.syncFile instead of the disk's, for tests
 */
export function createGroupCommit(
  db: SqliteDatabase,
  options: {
    readonly onSyncFailure?: ((failure: StorageFailure) => void) | undefined;
    readonly observe?: ObserveCommit | undefined;
    readonly syncFile?: (file: number, done: (error: Error | null) => void) => void;
  } = {},
): SqliteGroupCommit {
  const { onSyncFailure, observe, syncFile = fdatasync } = options;
  let queue: Job[] = [];
  let isScheduled = false;
  let syncing: PromiseWithResolvers<void> | undefined;
  let failure: StorageFailure | undefined;
  let log: number | undefined;
  let isClosed = false;

  const inOneTransaction = db.transaction((jobs: readonly Job[]): Outcome[] =>
    jobs.map((job) => ({ job, value: job.work() })),
  );

  const schedule = (): void => {
    if (isScheduled || syncing !== undefined || queue.length === 0) return;
    isScheduled = true;
    setImmediate(commit);
  };

  const commit = (): void => {
    if (db.inTransaction) return void setImmediate(commit);
    isScheduled = false;
    const jobs = queue;
    queue = [];
    if (failure !== undefined) return rejectAll(jobs, failure);
    const startedMs = observe && performance.now();
    let outcomes: readonly Outcome[];
    try {
      outcomes = withoutSync(db, () => commitJobs(jobs));
    } catch (error) {
      return rejectAll(jobs, error);
    }
    if (outcomes.every((outcome) => 'error' in outcome)) return settle(outcomes);
    sync(outcomes, startedMs);
    if (failure !== undefined) return;
    for (const outcome of outcomes) if ('value' in outcome) outcome.job.onCommit?.(outcome.value);
  };

  const commitJobs = (jobs: readonly Job[]): readonly Outcome[] => {
    try {
      return inOneTransaction.immediate(jobs);
    } catch (error) {
      // Another process holds the file, and this one waited for it as long as it may: not once more for each work.
      if (isBusy(error) || jobs.length === 1) return jobs.map((job) => ({ job, error }));
      return jobs.flatMap((job) => commitJobs([job]));
    }
  };

  const sync = (outcomes: readonly Outcome[], startedMs: number | undefined): void => {
    let file: number;
    try {
      // Kept open, since the kernel reports a failed write to each open file once.
      file = log ??= openSync(`${db.name}-wal`, 'r+');
    } catch (error) {
      return fail(error as Error, outcomes);
    }
    const pending = Promise.withResolvers<void>();
    pending.promise.catch(() => undefined);
    syncing = pending;
    syncFile(file, (error) => {
      syncing = undefined;
      if (isClosed) closeSync(file);
      if (error !== null) fail(error, outcomes);
      else {
        if (startedMs !== undefined) observe?.(commitOf(outcomes, startedMs));
        settle(outcomes);
      }
      if (failure === undefined) pending.resolve();
      else pending.reject(failure);
      schedule();
    });
  };

  const fail = (cause: Error, outcomes: readonly Outcome[]): void => {
    failure = new StorageFailure(`${db.name} could not be synced to its disk: ${cause.message}`, { cause });
    if (db.open) {
      if (db.inTransaction) db.exec('ROLLBACK');
      db.exec('PRAGMA query_only = ON');
    }
    rejectAll(
      outcomes.map(({ job }) => job),
      failure,
    );
    onSyncFailure?.(failure);
  };

  const add = (job: Job): void => {
    queue.push(job);
    schedule();
  };

  return {
    run: <T>(work: () => T): Promise<T> =>
      new Promise<T>((resolve, reject) =>
        add({ work, resolve: resolve as (value: unknown) => void, reject }),
      ),
    begin: <T>(work: () => T) => {
      const committed = Promise.withResolvers<T>();
      const durable = Promise.withResolvers<void>();
      durable.promise.catch(() => undefined);
      add({
        work,
        onCommit: committed.resolve as (value: unknown) => void,
        resolve: () => durable.resolve(),
        reject: (reason) => {
          committed.reject(reason);
          durable.reject(reason);
        },
      });
      return { committed: committed.promise, durable: durable.promise };
    },
    synced: () => syncing?.promise ?? (failure === undefined ? undefined : Promise.reject(failure)),
    close: () => {
      isClosed = true;
      if (log !== undefined && syncing === undefined) closeSync(log);
    },
  };
}

const commitOf = ({ length }: readonly Outcome[], startedMs: number): Parameters<ObserveCommit>[0] => ({
  writes: length,
  seconds: (performance.now() - startedMs) / 1000,
});

/** Within it a commit is in SQLite's log and visible, but not on the disk yet. */
function withoutSync<T>(db: SqliteDatabase, commit: () => T): T {
  db.exec('PRAGMA synchronous = NORMAL');
  try {
    return commit();
  } finally {
    db.exec('PRAGMA synchronous = FULL');
  }
}

function settle(outcomes: readonly Outcome[]): void {
  for (const outcome of outcomes)
    if ('error' in outcome) outcome.job.reject(outcome.error);
    else outcome.job.resolve(outcome.value);
}

function rejectAll(jobs: readonly Job[], reason: unknown): void {
  for (const job of jobs) job.reject(reason);
}
