import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NewerSchema } from './schema-steps.ts';
import { VERSION } from './version.ts';
import {
  AlreadyServing,
  type Migration,
  type SqliteDatabase,
  holdServeLock,
  openPlain,
  openSqlite,
  readAppliedSteps,
} from './sqlite.ts';

const items: Migration = {
  ...{ id: 1, name: 'items', phase: 'expand' },
  sql: 'CREATE TABLE items (id INTEGER PRIMARY KEY, body TEXT) STRICT',
};
const migrations = [items];
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

describe('openSqlite', () => {
  const step = (id: number, phase: 'expand' | number): Migration => ({
    ...{ id, name: `step ${id}`, sql: `CREATE TABLE step_${id} (id INTEGER) STRICT` },
    ...(phase === 'expand' ? { phase } : { phase: 'contract', compatibleFrom: phase }),
  });

  it('runs each migration once, and an older program after an expand step, not after a contract one', () => {
    const path = join(dir, 'a.db');
    for (let start = 0; start < 2; start += 1)
      openSqlite(path, { migrations: [items, step(7, 'expand')] }).close();
    openSqlite(path, { migrations }).close();
    openSqlite(path, { migrations: [items, step(7, 'expand'), step(8, 7)] }).close();
    const bytes = readFileSync(path);
    expect(() => openSqlite(path, { migrations })).toThrow(NewerSchema);
    expect(() => openSqlite(path, { migrations })).toThrow(/a\.db has schema 8 .*knows up to 1:/);
    expect(readFileSync(path).equals(bytes)).toBe(true);
    openSqlite(path, { migrations: [items, step(7, 'expand')] }).close();
    expect(readAppliedSteps(path)).toEqual([
      { id: 1, name: 'items', compatibleFrom: 0, appliedBy: VERSION },
      { id: 7, name: 'step 7', compatibleFrom: 0, appliedBy: VERSION },
      { id: 8, name: 'step 8', compatibleFrom: 7, appliedBy: VERSION },
    ]);
  });

  it('adds what is missing to the table of migrations that a program before 0.1.0 made', () => {
    const path = join(dir, 'former.db');
    const former = openPlain(path);
    former.exec(`CREATE TABLE schema_migrations (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
      INSERT INTO schema_migrations VALUES (1, 'items'); ${items.sql}`);
    former.close();
    openSqlite(path, { migrations: [items, step(2, 'expand')] }).close();
    expect(readAppliedSteps(path)).toEqual([
      { id: 1, name: 'items', compatibleFrom: null, appliedBy: null },
      { id: 2, name: 'step 2', compatibleFrom: 0, appliedBy: VERSION },
    ]);
  });
});

describe('readAppliedSteps', () => {
  it('changes no byte, neither of the file nor of what a running process has written, and makes no file', () => {
    const path = join(dir, 'a.db');
    db.exec("INSERT INTO items (body) VALUES ('not in the database file yet')");
    const files = () =>
      readdirSync(dir)
        .filter((name) => !name.endsWith('-shm'))
        .map((name) => [name, readFileSync(join(dir, name), 'latin1')]);
    const before = files();
    expect(readAppliedSteps(path)?.map(({ id }) => id)).toEqual([1]);
    expect(readAppliedSteps(join(dir, 'none.db'))).toBeUndefined();
    expect(files()).toEqual(before);
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
