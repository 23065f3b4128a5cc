import { silentLogger } from '@svault/server-kit/logger';
import { type Id, ManualClock, newId } from '@svault/shared';
import type { Outcome } from '@svault/shared/schemas';
import { beforeEach, expect, it } from 'vitest';
import { createActivityCounting } from '../../src/audit/activity-counting.ts';
import { AlreadyCounted, type Bucket } from '../../src/core/activity.ts';
import { readRecentRequests } from '../../src/audit/recent-requests.ts';
import type { NewAuditEvent } from '../../src/core/audit-event.ts';
import { readActivitySeries } from '../../src/management/activity-series.ts';
import type { Database } from '../../src/store/database.ts';
import { useStore } from './open-store.ts';

const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;
const AT = Date.parse('2026-11-20T12:30:00Z');

const clock = new ManualClock(AT);
let database: Database;
let vaultId: Id<'vlt'>;

useStore((opened) => (database = opened), clock);
beforeEach(() => {
  clock.jump(AT - clock.now());
  vaultId = newId('vlt');
});

const counting = (auditRetentionDays?: number) =>
  createActivityCounting({ ...database, auditRetentionDays, clock, logger: silentLogger });

const events = (count: number, outcome: Outcome, more: Partial<NewAuditEvent> = {}): NewAuditEvent[] =>
  Array.from({ length: count }, () => ({
    vaultId,
    eventType: 'AGENT_CREDENTIAL_ACCESS' as const,
    outcome,
    ...more,
  }));
const write = (written: readonly NewAuditEvent[]): Promise<void> =>
  database.unitOfWork.run(vaultId, ({ audit }) => audit.appendAll(written));

/** The vaults with events that are not counted: of this test. */
const backlog = async () =>
  (await database.stores.activity.backlog({ after: undefined, limit: 100 })).filter(
    (vault) => vault.vaultId === vaultId,
  );

const read = (
  request: { bucket?: Bucket; agentId?: Id<'agt'>; fromMs?: number; toMs?: number; of?: Id<'vlt'> } = {},
) => {
  const { bucket = 'hour', agentId, fromMs, toMs, of = vaultId } = request;
  const dependencies = { stores: database.stores, auditRetentionDays: undefined, clock };
  return readActivitySeries(dependencies, of, { bucket, agentId, fromMs, toMs });
};
/** The buckets that are not empty: accesses, denied, rate limited and errors. */
const numbers = async (request?: Parameters<typeof read>[0]) => {
  const { buckets } = await read(request);
  return Object.fromEntries(
    buckets
      .map(
        ({ start, accesses, denied, rateLimited, errors }) =>
          [start, [accesses, denied, rateLimited, errors]] as const,
      )
      .filter(([, counts]) => counts.some((count) => count > 0)),
  );
};

it('each credential request counts once, whether it is counted already, and however many processes count', async () => {
  const [one, two] = [newId('agt'), newId('agt')];
  await write([
    ...events(700, 'success', { agentId: one }),
    ...events(1, 'rate_limited', { agentId: one, count: 40 }),
    ...events(3, 'denied', { agentId: two }),
    ...events(2, 'error', { eventType: 'PROXY_CREDENTIAL_USE', proxyId: newId('prx') }),
    ...events(9, 'success', { eventType: 'LOGIN' }),
  ]);
  const expectNumbers = async () => {
    for (const bucket of ['hour', 'minute', 'day'] as const) {
      const start = { minute: '12:30', hour: '12:00', day: '00:00' }[bucket];
      const at = `2026-11-20T${start}:00.000Z`;
      expect(await numbers({ bucket })).toEqual({ [at]: [700, 3, 40, 2] });
      expect(await numbers({ bucket, agentId: one })).toEqual({ [at]: [700, 0, 40, 0] });
      expect(await numbers({ bucket, agentId: two })).toEqual({ [at]: [0, 3, 0, 0] });
      expect(await numbers({ bucket, agentId: newId('agt') })).toEqual({});
      expect(await numbers({ bucket, of: newId('vlt') })).toEqual({});
    }
  };
  await expectNumbers();
  await Promise.all([counting().count(), counting().count(), counting().count()]);
  expect(await backlog()).toEqual([]);
  await expectNumbers();
  await counting().count();
  await expectNumbers();

  await write(events(5, 'success', { agentId: two }));
  expect(await backlog()).toEqual([{ vaultId, countedSeq: 715 }]);
  expect(await numbers()).toEqual({ '2026-11-20T12:00:00.000Z': [705, 3, 40, 2] });
  await counting().count();
  expect(await numbers()).toEqual({ '2026-11-20T12:00:00.000Z': [705, 3, 40, 2] });
});

it('a step that starts where another process has counted adds nothing', async () => {
  await write(events(4, 'denied'));
  const count = { agentId: undefined, bucket: 'hour', startsAt: '2026-11-20T12:00:00.000Z' } as const;
  const add = (from: number, to: number) =>
    database.unitOfWork.runAcross(({ activity }) =>
      activity.add(vaultId, { from, to, counts: [{ ...count, outcome: 'denied', requests: to - from }] }),
    );
  await add(0, 3);
  await expect(add(0, 4)).rejects.toThrow(AlreadyCounted);
  await expect(add(4, 5)).rejects.toThrow(AlreadyCounted);
  expect(await numbers()).toEqual({ '2026-11-20T12:00:00.000Z': [0, 4, 0, 0] });
  await add(3, 4);
  expect(await numbers()).toEqual({ '2026-11-20T12:00:00.000Z': [0, 4, 0, 0] });
});

it('an event counts in the bucket of its own time, also after the clock was set back', async () => {
  await write(events(1, 'success'));
  clock.jump(-3 * HOUR);
  await write(events(2, 'success'));
  clock.jump(3 * HOUR);
  const expected = { '2026-11-20T09:00:00.000Z': [2, 0, 0, 0], '2026-11-20T12:00:00.000Z': [1, 0, 0, 0] };
  expect(await numbers()).toEqual(expected);
  await counting().count();
  expect(await numbers()).toEqual(expected);
});

it('a series without an end has the present bucket last, and the first one whole', async () => {
  await write(events(1, 'success'));
  expect(await read()).toMatchObject({
    from: '2026-11-19T13:00:00.000Z',
    to: '2026-11-20T13:00:00.000Z',
    since: '2026-11-19T13:00:00.000Z',
    complete: true,
  });
  expect((await read()).buckets.map(({ accesses }) => accesses)).toEqual([
    ...Array.from({ length: 23 }, () => 0),
    1,
  ]);
  const fromMs = AT - 1;
  const part = await read({ fromMs, toMs: AT });
  expect(part.buckets).toEqual([
    { start: '2026-11-20T12:00:00.000Z', accesses: 1, denied: 0, rateLimited: 0, errors: 0 },
  ]);
  expect(await numbers({ fromMs: AT - HOUR, toMs: AT - HOUR / 2 })).toEqual({});
});

it('a series of a log that is far behind in its counting reads the oldest part of the rest, and says so', async () => {
  await write(events(4_999, 'success'));
  await write(events(2, 'denied'));
  expect(await read()).toMatchObject({ complete: false });
  expect(await numbers()).toEqual({ '2026-11-20T12:00:00.000Z': [4_999, 1, 0, 0] });
  await counting().count();
  expect(await read()).toMatchObject({ complete: true });
  expect(await numbers()).toEqual({ '2026-11-20T12:00:00.000Z': [4_999, 2, 0, 0] });
});

it('counts of minutes are kept for two days, those of hours as long as the log and 400 days at most', async () => {
  await write(events(1, 'success'));
  await counting().count();
  const window = { fromMs: AT, toMs: AT + HOUR };
  const [minute, hour] = [
    { '2026-11-20T12:30:00.000Z': [1, 0, 0, 0] },
    { '2026-11-20T12:00:00.000Z': [1, 0, 0, 0] },
  ];

  clock.jump(2 * DAY);
  await counting().removeOld();
  expect(await numbers({ ...window, bucket: 'minute' })).toEqual(minute);
  clock.jump(1);
  await counting().removeOld();
  expect(await numbers({ ...window, bucket: 'minute' })).toEqual({});
  expect(await read({ ...window, bucket: 'minute' })).toMatchObject({ since: '2026-11-20T12:30:00.001Z' });

  clock.jump(28 * DAY);
  await counting().removeOld();
  expect(await numbers(window)).toEqual(hour);
  await counting(31).removeOld();
  expect(await numbers(window)).toEqual(hour);
  await counting(30).removeOld();
  expect(await numbers(window)).toEqual({});

  clock.jump(-30 * DAY - 1);
  await write(events(1, 'success', { agentId: newId('agt') }));
  await counting().count();
  clock.jump(400 * DAY - HOUR / 2);
  await counting().removeOld();
  expect(await numbers(window)).toEqual(hour);
  clock.jump(1);
  await counting().removeOld();
  expect(await numbers(window)).toEqual({});
});

it('old counts are removed in short steps, until none is left', async () => {
  for (let step = 0; step < 4; step++)
    await write(Array.from({ length: 400 }, () => events(1, 'denied', { agentId: newId('agt') })).flat());
  await counting().count();
  clock.jump(3 * DAY);
  const { activity } = database.stores;
  const before = '2026-11-20T12:31:00.000Z';
  expect(await activity.removeOld('minute', before, 1_000)).toBe(true);
  await counting().removeOld();
  expect(await activity.removeOld('minute', before, 1)).toBe(false);
  expect(await numbers({ fromMs: AT, toMs: AT + HOUR })).toEqual({
    '2026-11-20T12:00:00.000Z': [0, 1_600, 0, 0],
  });
});

it("an upstream's rejection is no further request, as in a policy's preview", async () => {
  const use = { eventType: 'PROXY_CREDENTIAL_USE', proxyId: newId('prx') } as const;
  await write([
    ...events(1, 'success', use),
    ...events(1, 'error', { ...use, detail: { code: 'UPSTREAM_UNAUTHORIZED' } }),
    ...events(1, 'error', { ...use, detail: { code: 'WEBHOOK_UNAVAILABLE' } }),
  ]);
  const expected = { '2026-11-20T12:00:00.000Z': [1, 0, 0, 1] };
  expect(await numbers()).toEqual(expected);
  await counting().count();
  expect(await numbers()).toEqual(expected);
  expect((await readRecentRequests(database.stores.audit, vaultId)).events).toHaveLength(2);
});
