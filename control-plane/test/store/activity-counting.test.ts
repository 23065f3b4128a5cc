import { silentLogger } from '@svault/server-kit/logger';
import { type Id, ManualClock, newId } from '@svault/shared';
import type { Outcome } from '@svault/shared/schemas';
import { beforeEach, expect, it } from 'vitest';
import { createActivityCounting } from '../../src/audit/activity-counting.ts';
import type { Bucket } from '../../src/core/activity.ts';
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

const read = (
  request: { bucket?: Bucket; agentId?: Id<'agt'>; fromMs?: number; toMs?: number; of?: Id<'vlt'> } = {},
) => {
  const { bucket = 'hour', agentId, fromMs, toMs, of = vaultId } = request;
  const { activity } = database.stores;
  const dependencies = { activity, auditRetentionDays: undefined, clock };
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
  expect(await database.stores.activity.progressOf(vaultId)).toEqual({ countedSeq: 715, headSeq: 715 });
  await expectNumbers();
  await counting().count();
  await expectNumbers();

  await write(events(5, 'success', { agentId: two }));
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
  expect(await add(0, 3)).toBe(true);
  expect(await add(0, 4)).toBe(false);
  expect(await add(4, 5)).toBe(false);
  expect(await numbers()).toEqual({ '2026-11-20T12:00:00.000Z': [0, 4, 0, 0] });
  expect(await add(3, 4)).toBe(true);
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

it('counts of minutes are kept for two days, those of hours as long as the log', async () => {
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
});
