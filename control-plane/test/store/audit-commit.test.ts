import { ManualClock } from '@svault/shared';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AuditEntry } from '../../src/audit/audit-writer.ts';
import { verifyLog } from '../../src/audit/verify.ts';
import type { Database } from '../../src/store/database.ts';
import type { Stores } from '../../src/core/stores.ts';
import { useStore } from './open-store.ts';
import { type StoredAccess, storeAccess } from './stored-access.ts';
import type { LifetimeUse } from '../../src/core/policy.ts';

const NOW = '2026-11-20T12:00:00.000Z';
const clock = new ManualClock(Date.parse(NOW));
let database: Database;
let stored: StoredAccess;
let entry: AuditEntry;

useStore((opened) => (database = opened), clock);
beforeEach(async () => {
  stored = await storeAccess(database, clock);
  entry = { event: stored.event('github'), touchCaller: true, onlyIf: stored.onlyIf };
});

const change = <T>(work: (stores: Stores) => Promise<T>): Promise<T> =>
  database.unitOfWork.run(stored.vaultId, work);
const commit = (...entries: AuditEntry[]): Promise<boolean[]> =>
  Promise.all(entries.map((each) => database.auditCommit.write(each)));
const eventsOf = (vaultId = stored.vaultId) => database.stores.audit.after(vaultId, 0, 1_000);
const written = async (): Promise<number> => (await eventsOf()).length;

it('write stores an access with all members of its event', async () => {
  const event = { ...entry.event, count: 3, detail: { code: 'X', tags: ['"a"', '\\', 'é\u2028'], n: 1 } };
  expect(await commit({ ...entry, event })).toEqual([true]);
  expect(await eventsOf()).toEqual([
    { ...event, seq: 1, id: expect.anything(), timestamp: NOW, hash: expect.anything() },
  ]);
  expect(await database.stores.agents.get(stored.vaultId, stored.agentId)).toMatchObject({ lastUsedAt: NOW });
});

describe('write, with lifetime uses', () => {
  const use = (ruleId: string, limit: number): LifetimeUse => ({
    ruleId,
    targetType: 'agent',
    targetId: stored.agentId,
    limit,
  });
  const using = (...uses: LifetimeUse[]): AuditEntry => ({
    ...entry,
    onlyIf: { ...stored.onlyIf, uses },
  });

  it('counts up to the limit, for any number of writes at once', async () => {
    const twenty = Array.from({ length: 20 }, () => using(use('rul_a', 7)));
    expect((await commit(...twenty)).filter(Boolean)).toHaveLength(7);
    expect(await written()).toBe(7);
  });

  it('counts every rule of an access, or none', async () => {
    expect(await commit(using(use('rul_a', 1)))).toEqual([true]);
    expect(await commit(using(use('rul_b', 1), use('rul_a', 1)))).toEqual([false]);
    expect(await commit(using(use('rul_b', 1)))).toEqual([true]);
    expect(await commit(using(use('rul_b', 1)))).toEqual([false]);
  });

  it('counts nothing where the account has changed', async () => {
    const former: AuditEntry = {
      ...entry,
      onlyIf: { ...stored.onlyIf, accountRevision: -1, uses: [use('rul_a', 1)] },
    };
    expect(await commit(former)).toEqual([false]);
    expect(await commit(using(use('rul_a', 1)))).toEqual([true]);
  });
});

it('concurrent writes of requests and changes form one chain', async () => {
  const other = await storeAccess(database, clock);
  const plain = (): AuditEntry => ({ ...entry, onlyIf: undefined });
  await Promise.all([
    ...Array.from({ length: 40 }, () => database.auditCommit.write(plain())),
    ...Array.from({ length: 20 }, () => change(({ audit }) => audit.append(stored.event('changed')))),
    ...Array.from({ length: 20 }, () =>
      database.auditCommit.write({
        event: other.event('other'),
        touchCaller: true,
        onlyIf: other.onlyIf,
      }),
    ),
    change(({ audit }) => audit.appendAll(Array.from({ length: 30 }, () => stored.event('many')))),
  ]);
  expect(await verifyLog(database.stores.audit, stored.vaultId)).toMatchObject({ intact: true, events: 90 });
  expect(await verifyLog(database.stores.audit, other.vaultId)).toMatchObject({ intact: true, events: 20 });
});
