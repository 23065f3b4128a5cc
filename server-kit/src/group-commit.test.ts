import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createGroupCommit } from './group-commit.ts';
import { type Migration, type SqliteDatabase, isStorageFailure, openSqlite } from './sqlite.ts';
import { StorageFailure } from './storage-failure.ts';

const migrations: readonly Migration[] = [
  {
    ...{ id: 1, name: 'items', phase: 'expand' },
    sql: 'CREATE TABLE items (id INTEGER PRIMARY KEY, body TEXT) STRICT',
  },
];
let dir: string;
let db: SqliteDatabase;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'svault-group-commit-'));
  db = openSqlite(join(dir, 'a.db'), { migrations });
});
afterEach(() => {
  db.close();
  rmSync(dir, { recursive: true });
});
const count = (): number => db.prepare<[], number>('SELECT count(*) FROM items').pluck().get()!;
const put = () => db.prepare("INSERT INTO items (body) VALUES ('x')").run().changes;

/** A disk whose syncs end when the test says so. */
function slowDisk() {
  const syncs: ((error: Error | null) => void)[] = [];
  return {
    syncFile: (_file: number, done: (error: Error | null) => void) => void syncs.push(done),
    /** The sync that is under way. */
    syncing: async () => {
      while (syncs.length === 0) await nextTurn();
      expect(syncs).toHaveLength(1);
      return syncs.pop()!;
    },
  };
}
const EIO = Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });

describe('createGroupCommit', () => {
  it('commits all jobs of one turn together and returns each its value', async () => {
    const insert = db.prepare('INSERT INTO items (body) VALUES (?)');
    const group = createGroupCommit(db);
    const witness = openSqlite(join(dir, 'a.db'), { migrations });
    const seen = witness.prepare<[], number>('SELECT count(*) FROM items').pluck();
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        group.run(() => insert.run(`${index}`).changes + index).then((value) => [value, seen.get()]),
      ),
    );
    // The first to be answered already finds all fifty on the disk.
    expect(results).toEqual(Array.from({ length: 50 }, (_, index) => [index + 1, 50]));
    witness.close();
  });

  it('rejects a throwing job alone and commits the others of its group', async () => {
    const insert = db.prepare('INSERT INTO items (id, body) VALUES (?, ?)');
    const group = createGroupCommit(db);
    const outcomes = await Promise.allSettled([
      group.run(() => insert.run(1, 'a')),
      group.run(() => insert.run(1, 'twice')),
      group.run(() => {
        insert.run(2, 'b');
        throw new Error('no');
      }),
      group.run(() => insert.run(3, 'c')),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    expect(db.prepare('SELECT id, body FROM items ORDER BY id').all()).toEqual([
      { id: 1, body: 'a' },
      { id: 3, body: 'c' },
    ]);
  });

  it('waits while another transaction is open on the connection', async () => {
    const group = createGroupCommit(db);
    db.exec('BEGIN');
    const written = group.run(() => db.prepare("INSERT INTO items (body) VALUES ('x')").run());
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    db.exec('ROLLBACK');
    await written;
    expect(count()).toBe(1);
  });

  it('waits once for a file that another process locks, then rejects the whole group', async () => {
    const other = openSqlite(join(dir, 'a.db'), { migrations });
    db.pragma('busy_timeout = 20');
    let attempts = 0;
    const immediate = (work: (jobs: unknown) => unknown) => (jobs: unknown) => {
      attempts += 1;
      return db.transaction(work).immediate(jobs);
    };
    const transaction = (work: () => unknown) => ({ immediate: immediate(work) });
    const { name } = db;
    const exec = (sql: string) => db.exec(sql);
    const group = createGroupCommit({
      inTransaction: false,
      transaction,
      name,
      exec,
    } as unknown as SqliteDatabase);
    const insert = db.prepare("INSERT INTO items (body) VALUES ('x')");
    other.exec('BEGIN IMMEDIATE');
    const refused = await Promise.allSettled(Array.from({ length: 3 }, () => group.run(() => insert.run())));
    expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    for (const outcome of refused)
      expect(outcome.status === 'rejected' && isStorageFailure(outcome.reason)).toBe(true);
    expect(attempts).toBe(1);
    other.exec('ROLLBACK');
    await group.run(() => insert.run());
    expect(count()).toBe(1);
    other.close();
  });

  it('rejects with a storage failure while the disk is full, and recovers when it has room', async () => {
    const group = createGroupCommit(db);
    const insert = db.prepare('INSERT INTO items (body) VALUES (?)');
    db.pragma(`max_page_count = ${Number(db.pragma('page_count', { simple: true }))}`);
    const refused = await group.run(() => insert.run('x'.repeat(100_000))).catch((error: unknown) => error);
    expect(isStorageFailure(refused)).toBe(true);
    db.pragma('max_page_count = 1000000');
    await group.run(() => insert.run('x'.repeat(100_000)));
    expect(count()).toBe(1);
  });
});

describe('the sync of a group', () => {
  it('is over before anything of the group is answered', async () => {
    const { syncFile, syncing } = slowDisk();
    const group = createGroupCommit(db, { syncFile });
    const answered: string[] = [];
    const good = group.run(put).then(() => answered.push('good'));
    const bad = group.run(() => db.exec('no statement')).catch(() => answered.push('bad'));
    const readable = () => group.synced()?.then(() => answered.push('readable'));
    const end = await syncing();
    const read = readable();
    await nextTurn();
    expect([count(), answered]).toEqual([1, []]);
    end(null);
    await Promise.all([good, bad, read]);
    expect(answered.toSorted()).toEqual(['bad', 'good', 'readable']);
    expect(group.synced()).toBe(undefined);
  });

  it('lets the next group gather, which is committed after it and synced by itself', async () => {
    const { syncFile, syncing } = slowDisk();
    const group = createGroupCommit(db, { syncFile });
    const first = group.run(put);
    const endFirst = await syncing();
    const others = [group.run(put), nextTurn().then(() => group.run(put))];
    await nextTurn();
    await nextTurn();
    expect(count()).toBe(1);
    endFirst(null);
    await first;
    const endSecond = await syncing();
    expect(count()).toBe(3);
    endSecond(null);
    expect(await Promise.all(others)).toEqual([1, 1]);
  });

  it('is left to SQLite for every other write of the connection', async () => {
    const { syncFile, syncing } = slowDisk();
    const group = createGroupCommit(db, { syncFile });
    const level = () => db.pragma('synchronous', { simple: true });
    const FULL = 2;
    const levels: unknown[] = [level()];
    const failed = group.run(() => {
      throw new Error('no');
    });
    await expect(failed).rejects.toThrow('no');
    levels.push(level());
    const written = group.run(put);
    const end = await syncing();
    levels.push(level());
    end(null);
    await written;
    expect(levels).toEqual([FULL, FULL, FULL]);
  });
});

describe('a sync that fails', () => {
  it('rejects its group and all that comes later, reports itself once, and ends all writes', async () => {
    const { syncFile, syncing } = slowDisk();
    const failures: StorageFailure[] = [];
    const group = createGroupCommit(db, { syncFile, onSyncFailure: (failure) => failures.push(failure) });
    const during = group.run(put);
    const end = await syncing();
    const waiting = group.run(put);
    const read = group.synced();
    end(EIO);
    const outcomes = await Promise.allSettled([during, waiting, read, group.run(put), group.synced()]);
    expect(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason)).toEqual(
      Array.from({ length: 5 }, () => failures[0]),
    );
    expect(failures).toHaveLength(1);
    expect(failures[0]).toBeInstanceOf(StorageFailure);
    expect(failures[0]?.message).toContain(`${join(dir, 'a.db')} could not be synced to its disk: EIO`);
    expect(put).toThrow(/readonly/);
    expect(count()).toBe(1);
  });

  it('undoes a transaction that is open on the connection', async () => {
    const { syncFile, syncing } = slowDisk();
    const group = createGroupCommit(db, { syncFile });
    const written = group.run(put);
    const end = await syncing();
    db.exec('BEGIN IMMEDIATE');
    put();
    end(EIO);
    await expect(written).rejects.toBeInstanceOf(StorageFailure);
    expect([db.inTransaction, count()]).toEqual([false, 1]);
  });
});

describe('begin', () => {
  it('tells of the commit before the sync, and of the disk after it', async () => {
    const disk = slowDisk();
    const group = createGroupCommit(db, disk);
    const { committed, durable } = group.begin(put);
    let isDurable = false;
    const known = durable.then(() => (isDurable = true));
    expect(await committed).toBe(1);
    expect(count()).toBe(1);
    const done = await disk.syncing();
    await nextTurn();
    expect(isDurable).toBe(false);
    done(null);
    expect(await known).toBe(true);
  });

  it('rejects both where the work throws, and commits the others of its group', async () => {
    const group = createGroupCommit(db);
    const failed = group.begin(() => {
      throw new Error('no');
    });
    const other = group.begin(put);
    await expect(failed.committed).rejects.toThrow('no');
    await expect(failed.durable).rejects.toThrow('no');
    expect(await other.committed).toBe(1);
    await other.durable;
  });

  it('rejects where the sync fails, after the commit was told of; later ones are not committed', async () => {
    const disk = slowDisk();
    const group = createGroupCommit(db, disk);
    const { committed, durable } = group.begin(put);
    expect(await committed).toBe(1);
    const next = group.begin(put);
    (await disk.syncing())(EIO);
    await expect(durable).rejects.toThrow(StorageFailure);
    await expect(next.committed).rejects.toThrow(StorageFailure);
    expect(count()).toBe(1);
  });
});
