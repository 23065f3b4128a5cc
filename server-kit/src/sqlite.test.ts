import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createGroupCommit } from './group-commit.ts';
import { backupSqlite } from './sqlite-backup.ts';
import {
  AlreadyServing,
  NewerSchema,
  type SqliteDatabase,
  holdServeLock,
  isStorageFailure,
  openSqlite,
} from './sqlite.ts';

const migrations = [
  { id: 1, name: 'items', sql: 'CREATE TABLE items (id INTEGER PRIMARY KEY, body TEXT) STRICT' },
];
let dir: string;
let db: SqliteDatabase;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'svault-sqlite-'));
  db = openSqlite(join(dir, 'a.db'), { migrations });
});
afterEach(() => {
  db.close();
  rmSync(dir, { recursive: true });
});
const count = (): number => db.prepare<[], number>('SELECT count(*) FROM items').pluck().get()!;

describe('openSqlite', () => {
  it('runs each migration once, and rejects a newer schema with both numbers', () => {
    const path = join(dir, 'a.db');
    const more = [...migrations, { id: 7, name: 'more', sql: 'CREATE TABLE more (id INTEGER) STRICT' }];
    openSqlite(path, { migrations: more }).close();
    openSqlite(path, { migrations: more }).close();
    expect(() => openSqlite(path, { migrations })).toThrow(NewerSchema);
    expect(() => openSqlite(path, { migrations })).toThrow(/schema 7.*up to 1/);
  });
});

describe('holdServeLock', () => {
  it('gives the lock to one process, and to the next one after its release', () => {
    const path = join(dir, 'a.db');
    const first = holdServeLock(path);
    expect(() => holdServeLock(path)).toThrow(AlreadyServing);
    first.release();
    holdServeLock(path).release();
  });
});

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
    const group = createGroupCommit({ inTransaction: false, transaction } as unknown as SqliteDatabase);
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

describe('backupSqlite', () => {
  it('copies a live database and never overwrites a file', async () => {
    db.exec("INSERT INTO items (body) VALUES ('kept')");
    const file = join(dir, 'backup.db');
    const seal = { program: 'webhook', masterKey: randomBytes(32), madeAt: '2026-11-22T12:00:00Z' } as const;
    await backupSqlite(db, file, seal);
    const copy = openSqlite(file, { migrations });
    expect(copy.prepare('SELECT body FROM items').pluck().get()).toBe('kept');
    copy.close();
    await expect(backupSqlite(db, file, seal)).rejects.toThrow(/exists already/);
  });
});
