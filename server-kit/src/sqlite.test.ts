import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backupSqlite } from './sqlite-backup.ts';
import { AlreadyServing, NewerSchema, type SqliteDatabase, holdServeLock, openSqlite } from './sqlite.ts';

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
