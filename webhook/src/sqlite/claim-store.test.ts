import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '@svault/shared';
import { type GroupCommit, createGroupCommit } from '@svault/server-kit/group-commit';
import { type SqliteDatabase, openSqlite } from '@svault/server-kit/sqlite';
import { forgetExpiredClaims } from '../replay/claim-once.ts';
import { createTimeFloor } from '../replay/time-floor.ts';
import { createClaimStore } from './claim-store.ts';
import { claimsMigration } from './migrations/102-claims.ts';

let folder: string;
let open: SqliteDatabase[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svault-claims-'));
  open = [];
});
afterEach(() => {
  for (const db of open) db.close();
  rmSync(folder, { recursive: true });
});

function connect(): { store: ReturnType<typeof createClaimStore>; commit: GroupCommit; db: SqliteDatabase } {
  const db = openSqlite(join(folder, 'claims.db'), { migrations: [claimsMigration] });
  open.push(db);
  return { store: createClaimStore(db), commit: createGroupCommit(db), db };
}

describe('claims', () => {
  it('succeed once, across connections and restarts', () => {
    const [one, other] = [connect(), connect()];
    expect(one.store.claim('nonce k a', 1_000)).toBe(true);
    expect(other.store.claim('nonce k a', 9_000)).toBe(false);
    expect(other.store.claim('nonce l a', 1_000)).toBe(true);
    one.db.close();
    expect(connect().store.claim('nonce k a', 1_000)).toBe(false);
  });

  it('succeed for exactly one of many in one group', async () => {
    const { store, commit } = connect();
    const all = Array.from({ length: 20 }, () => commit.run(() => store.claim('ticket j', 1_000)));
    expect((await Promise.all(all)).filter(Boolean)).toHaveLength(1);
  });

  it('are released when their transaction is rolled back', async () => {
    const { store, commit } = connect();
    const failing = commit.run(() => {
      store.claim('ticket j', 1_000);
      throw new Error('later work failed');
    });
    await expect(failing).rejects.toThrow('later work failed');
    expect(store.claim('ticket j', 1_000)).toBe(true);
  });

  it('are all deleted below the time floor, in the transaction that stores the floor', async () => {
    const { store, commit, db } = connect();
    const start = Date.UTC(2026, 0, 1);
    const clock = new ManualClock(start);
    const floor = createTimeFloor({ clock, store });
    for (let at = 0; at < 1_200; at += 1) store.claim(`ticket ${at}`, start + at);
    floor.confirm(start);
    clock.advance(1_000);
    await forgetExpiredClaims({ claims: store, floor, commit });
    const left = db.prepare<[], number>('SELECT until FROM claims ORDER BY until').pluck().all();
    expect(left).toHaveLength(200);
    expect(left[0]).toBe(start + 1_000);
    expect(store.floor()).toBe(start + 1_000);
  });

  it('are kept while no request has confirmed the time', async () => {
    const { store, commit } = connect();
    store.claim('ticket j', 1_000);
    const floor = createTimeFloor({ clock: new ManualClock(), store });
    await forgetExpiredClaims({ claims: store, floor, commit });
    expect(store.claim('ticket j', 1_000)).toBe(false);
  });

  it('never lower the time floor', () => {
    const { store } = connect();
    expect(store.floor()).toBeUndefined();
    store.raiseFloor(5_000);
    store.raiseFloor(4_000);
    expect(store.floor()).toBe(5_000);
  });
});
