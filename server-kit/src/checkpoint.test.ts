import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { startCheckpoints } from './checkpoint.ts';
import { type SqliteDatabase, openPlain } from './sqlite.ts';

const ROUND_MS = 250;
const QUIET_MS = 10_000;

let db: SqliteDatabase;
let log: string;
const logBytes = (): number => statSync(log).size;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const folder = mkdtempSync(join(tmpdir(), 'svault-test-'));
  db = openPlain(join(folder, 'a.db'));
  log = `${db.name}-wal`;
  db.exec('CREATE TABLE notes (text TEXT) STRICT');
  const checkpoints = startCheckpoints(db.name, { workerQuietRounds: 1 });
  onTestFinished(async () => {
    await checkpoints.stop();
    db.close();
    rmSync(folder, { recursive: true });
  });
});
afterEach(() => vi.useRealTimers());

const write = (bytes: number): void =>
  void db.prepare('INSERT INTO notes (text) VALUES (?)').run('x'.repeat(bytes));

it('leaves a small log as it is while commits come, and empties it after ten seconds without one', () => {
  for (let written = 0; written < 4; written++) {
    write(100);
    vi.advanceTimersByTime(QUIET_MS - ROUND_MS);
    expect(logBytes()).toBeGreaterThan(0);
  }
  vi.advanceTimersByTime(2 * ROUND_MS);
  expect(logBytes()).toBe(0);
  expect(db.prepare('SELECT count(*) FROM notes').pluck().get()).toBe(4);
});

it('tries again where a reader of the database is in the way', () => {
  write(100);
  const reader = openPlain(db.name);
  reader.exec('BEGIN; SELECT * FROM notes');
  write(100);
  vi.advanceTimersByTime(QUIET_MS + 2 * ROUND_MS);
  expect(logBytes()).toBeGreaterThan(0);
  reader.close();
  vi.advanceTimersByTime(QUIET_MS + ROUND_MS);
  expect(logBytes()).toBe(0);
});

it('has a worker empty a large log, which ends then, and starts another one for the next', async () => {
  for (let logs = 0; logs < 2; logs++) {
    write(5 * 1024 * 1024);
    const isEmpty = (): boolean => {
      vi.advanceTimersByTime(ROUND_MS);
      return logBytes() === 0;
    };
    await vi.waitUntil(isEmpty, { timeout: 60_000 });
  }
  expect(db.prepare('SELECT count(*) FROM notes').pluck().get()).toBe(2);
});
