import { silentLogger } from '@svault/server-kit/logger';
import { type Id, ManualClock, formatTime, newId } from '@svault/shared';
import { beforeEach, describe, expect, it } from 'vitest';
import { findEvents } from '../../src/audit/events-query.ts';
import { type AuditRetention, createAuditRetention } from '../../src/audit/retention.ts';
import { verifyLog } from '../../src/audit/verify.ts';
import { readCursor } from '../../src/core/paging.ts';
import type { Database } from '../../src/store/database.ts';
import type { UnitOfWork } from '../../src/core/stores.ts';
import { useStore } from './open-store.ts';
import { linkOf } from './stored-access.ts';

const DAY = 24 * 60 * 60_000;
const DAYS = 30;

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'));
let database: Database;
let vaultId: Id<'vlt'>;

useStore((opened) => (database = opened), clock);
beforeEach(async () => {
  vaultId = newId('vlt');
  const createdAt = formatTime(clock.now());
  await database.unitOfWork.run(vaultId, ({ vaults }) => vaults.add({ id: vaultId, createdAt }));
});

const retention = (unitOfWork: UnitOfWork = database.unitOfWork): AuditRetention =>
  createAuditRetention({ log: database.stores.audit, unitOfWork, days: DAYS, clock, logger: silentLogger });

const write = (count: number, serviceName = 's', of = vaultId): Promise<void> =>
  database.unitOfWork.run(of, ({ audit }) =>
    audit.appendAll(
      Array.from({ length: count }, () => ({
        vaultId: of,
        eventType: 'LOGIN' as const,
        outcome: 'success' as const,
        serviceName,
      })),
    ),
  );
const bind = (shippedSeq: number): Promise<void> =>
  database.unitOfWork.run(vaultId, async ({ audit, webhookLinks }) => {
    await webhookLinks.insert(linkOf(vaultId, 'whk_1'));
    if (shippedSeq > 0) await audit.markShipped(vaultId, 0, shippedSeq);
  });
const kept = async (of = vaultId): Promise<number[]> =>
  (await database.stores.audit.after(of, 0, 10_000)).map(({ seq }) => seq);
const verdict = () => verifyLog(database.stores.audit, vaultId);
const from = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

describe('audit retention', () => {
  it('removes events of its age to the millisecond, and the chain verifies', async () => {
    await write(3, 'old');
    clock.advance(1);
    await write(2, 'young');
    clock.advance(DAYS * DAY - 1);
    await retention().run();
    expect(await kept()).toEqual(from(1, 5));
    clock.advance(1);
    await retention().run();
    expect(await kept()).toEqual([4, 5]);
    expect(await verdict()).toMatchObject({ intact: true, events: 2, head: { seq: 5 } });
    await write(1);
    expect(await kept()).toEqual([4, 5, 6]);
    expect(await verdict()).toMatchObject({ intact: true, events: 3 });
  });

  it('keeps the newest event, whatever its age', async () => {
    await write(10);
    clock.advance(2 * DAYS * DAY);
    await retention().run();
    expect(await kept()).toEqual([10]);
    await write(1);
    await retention().run();
    expect(await kept()).toEqual([11]);
    expect(await verdict()).toMatchObject({ intact: true });
  });

  it('removes a long log in steps', async () => {
    await write(1_201);
    clock.advance(DAYS * DAY + 1);
    await write(1);
    let steps = 0;
    const counting: UnitOfWork = {
      ...database.unitOfWork,
      run: (vault, work) => (vault === vaultId && steps++, database.unitOfWork.run(vault, work)),
    };
    await retention(counting).run();
    expect(await kept()).toEqual([1_202]);
    expect(steps).toBeGreaterThanOrEqual(5);
    expect(await verdict()).toMatchObject({ intact: true });
  });

  it('keeps events that a bound webhook has not acknowledged', async () => {
    await write(10);
    await bind(4);
    clock.advance(DAYS * DAY + 1);
    await write(1);
    await retention().run();
    expect(await kept()).toEqual(from(5, 11));
    await database.stores.audit.markShipped(vaultId, 4, 10);
    await retention().run();
    expect(await kept()).toEqual([11]);
    expect(await verdict()).toMatchObject({ intact: true });
  });

  it('moves the shipping cursor beyond removed events, for a webhook that is bound later', async () => {
    await write(5);
    clock.advance(DAYS * DAY + 1);
    await write(2);
    await retention().run();
    await bind(0);
    const backlog = await database.stores.audit.backlog({ after: undefined, limit: 1_000 });
    const shippedSeq = backlog.find((waiting) => waiting.vaultId === vaultId)?.shippedSeq ?? -1;
    const events = await database.stores.audit.after(vaultId, shippedSeq, 10);
    expect(events.map(({ seq }) => seq)).toEqual([6, 7]);
  });

  it('covers every account, a page at a time', async () => {
    const vaults = Array.from({ length: 101 }, () => newId('vlt'));
    await Promise.all(vaults.map((each) => write(2, 's', each)));
    clock.advance(DAYS * DAY + 1);
    await retention().run();
    for (const each of vaults) expect(await kept(each)).toEqual([2]);
  });
});

describe('audit retention under faults', () => {
  it('undoes a step that a stop interrupts', async () => {
    await write(10);
    clock.advance(DAYS * DAY + 1);
    await write(1);
    const dying: UnitOfWork = {
      ...database.unitOfWork,
      run: (vault, work) =>
        database.unitOfWork.run(vault, async (stores) => {
          await work(stores);
          throw new Error('killed before the commit');
        }),
    };
    await retention(dying).run();
    expect(await kept()).toEqual(from(1, 11));
    expect(await verdict()).toMatchObject({ intact: true, events: 11 });
    await retention().run();
    expect(await kept()).toEqual([11]);
  });

  it('removes each event once from two processes, beside writes, and the chain verifies', async () => {
    await write(900);
    clock.advance(DAYS * DAY + 1);
    const runs = [retention().run(), retention().run()];
    await Promise.all([...runs, ...Array.from({ length: 20 }, () => write(1))]);
    await retention().run();
    expect(await verdict()).toMatchObject({ intact: true, head: { seq: 920 } });
    expect(await kept()).toEqual(from(901, 920));
  });

  it('removes less after the clock was set back, and events of the wrong time wait for those before them', async () => {
    await write(2, 'right');
    clock.jump(-10 * DAYS * DAY);
    await write(2, 'too early');
    await retention().run();
    expect(await kept()).toEqual(from(1, 4));
    clock.jump(10 * DAYS * DAY);
    await write(1, 'right again');
    await retention().run();
    expect(await kept()).toEqual(from(1, 5));
    clock.advance(DAYS * DAY + 1);
    await write(1);
    await retention().run();
    expect(await kept()).toEqual([6]);
    expect(await verdict()).toMatchObject({ intact: true });
  });

  it('keeps a log that was tampered with, so that the break still shows', async () => {
    await write(10);
    clock.advance(DAYS * DAY + 1);
    await write(1);
    await database.kysely
      .updateTable('audit_events')
      .set({ outcome: 'denied' })
      .where('vault_id', '=', vaultId)
      .where('seq', '=', 4)
      .execute();
    await retention().run();
    expect(await kept()).toEqual(from(1, 11));
    expect(await verdict()).toEqual({ intact: false, seq: 4, problem: 'changed' });
  });
});

it('a list whose next page was removed ends there', async () => {
  await write(30);
  clock.advance(DAYS * DAY + 1);
  await write(5);
  const log = database.stores.audit;
  const first = await findEvents(log, vaultId, {}, { limit: 10, before: undefined });
  await retention().run();
  const before = Number(readCursor(first.nextCursor ?? '', 1)?.[0]);
  for (const filter of [{}, { serviceName: 's' }])
    expect(await findEvents(log, vaultId, filter, { limit: 10, before })).toEqual({ items: [] });
  const whole = await findEvents(log, vaultId, {}, { limit: 10, before: undefined });
  expect(whole.items.map(({ seq }) => seq)).toEqual([35, 34, 33, 32, 31]);
  expect(whole.nextCursor).toBeUndefined();
});
