import type { SqliteGroupCommit } from '@svault/server-kit/group-commit';
import { ManualClock } from '@svault/shared';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { join } from 'node:path';
import { silentLogger } from '@svault/server-kit/logger';
import type { AuditEntry } from '../../src/audit/audit-writer.ts';
import { createAuditCommit } from '../../src/store/sqlite/audit-commit.ts';
import { type OpenSqlite, openSqliteDatabase } from '../../src/store/sqlite/sqlite-database.ts';
import { keyOf } from './open-store.ts';
import { type StoredAccess, storeAccess } from './stored-access.ts';

const clock = new ManualClock();
const dir = tempDir();
let database: OpenSqlite;
let stored: StoredAccess;

beforeAll(async () => {
  const options = { clock, logger: silentLogger, opener: 'server' } as const;
  database = await openSqliteDatabase(join(dir.path, 'a.db'), [keyOf(1)], options);
  stored = await storeAccess(database, clock);
});
afterAll(async () => {
  await database.close();
  dir.remove();
});

/** Transactions that the test begins and ends. */
function manualCommit() {
  const waiting: { begin(): unknown; fail(error: Error): void }[] = [];
  const groupCommit: Pick<SqliteGroupCommit, 'begin'> = {
    begin: <T>(work: () => T) => {
      const { promise: committed, resolve, reject } = Promise.withResolvers<T>();
      waiting.push({ begin: () => resolve(work()), fail: reject });
      const durable = committed.then(() => undefined);
      durable.catch(() => undefined);
      return { committed, durable };
    },
  };
  return { waiting, log: createAuditCommit(database.sqlite, groupCommit, clock) };
}
const entry = (serviceName: string): AuditEntry => ({
  event: stored.event(serviceName),
  touchCaller: false,
  onlyIf: undefined,
});
const names = async () =>
  (await database.stores.audit.after(stored.vaultId, 0, 100)).map(({ serviceName }) => serviceName);

it('write joins entries into one transaction until it begins, and later ones into the next', async () => {
  const { waiting, log } = manualCommit();
  const first = [log.write(entry('a')), log.write(entry('b'))];
  expect(waiting).toHaveLength(1);
  waiting[0]!.begin();
  const third = log.write(entry('c'));
  expect(await names()).toEqual(['a', 'b']);
  expect(waiting).toHaveLength(2);
  waiting[1]!.begin();
  expect(await Promise.all([...first, third])).toEqual([true, true, true]);
  expect(await names()).toEqual(['a', 'b', 'c']);
});

it('write does not carry entries of a failed transaction into the next one', async () => {
  const { waiting, log } = manualCommit();
  const lost = log.write(entry('lost'));
  waiting[0]!.fail(new Error('busy'));
  await expect(lost).rejects.toThrow('busy');
  const next = log.write(entry('next'));
  waiting[1]!.begin();
  await next;
  expect(await names()).not.toContain('lost');
});
