import { silentLogger } from '@svault/server-kit/logger';
import { type Id, ManualClock, newId } from '@svault/shared';
import { beforeEach, expect, it } from 'vitest';
import { readActiveAgents } from '../../src/audit/active-agents.ts';
import { createActivityCounting } from '../../src/audit/activity-counting.ts';
import type { NewAuditEvent } from '../../src/core/audit-event.ts';
import type { Database } from '../../src/store/database.ts';
import { useStore } from './open-store.ts';

const HOUR = 60 * 60_000;
const AT = Date.parse('2026-11-20T12:30:00Z');

const clock = new ManualClock(AT);
let database: Database;
let vaultId: Id<'vlt'>;

useStore((opened) => (database = opened), clock);
beforeEach(() => {
  clock.jump(AT - clock.now());
  vaultId = newId('vlt');
});

const write = (written: readonly Partial<NewAuditEvent>[]): Promise<void> =>
  database.unitOfWork.run(vaultId, ({ audit }) =>
    audit.appendAll(
      written.map((event) => ({
        ...{ vaultId, eventType: 'AGENT_CREDENTIAL_ACCESS', outcome: 'success' },
        ...event,
      })),
    ),
  );
const count = () =>
  createActivityCounting({
    ...{ ...database, auditRetentionDays: undefined, clock, logger: silentLogger },
  }).count();
const read = (hours = 24, limit = 10) =>
  readActiveAgents(database.stores, vaultId, { hours, limit, nowMs: clock.now() });
const none = { accesses: 0, denied: 0, rateLimited: 0, errors: 0 };

it('the most active agents come first, with all of their requests of the hours by outcome, counted or not', async () => {
  const [one, two, three]: Id<'agt'>[] = [newId('agt'), newId('agt'), newId('agt')];
  await write([{ agentId: three, count: 99 }]);
  clock.jump(22 * HOUR);
  await write([
    { agentId: one, count: 5 },
    { agentId: two, count: 4 },
    { proxyId: newId('prx'), count: 50 },
  ]);
  clock.jump(HOUR);
  await write([
    { agentId: one, outcome: 'denied' },
    { agentId: two, outcome: 'rate_limited', count: 7 },
  ]);
  const expected = [
    { agentId: three, ...none, accesses: 99 },
    { agentId: two, ...none, accesses: 4, rateLimited: 7 },
    { agentId: one, ...none, accesses: 5, denied: 1 },
  ];
  const since = '2026-11-20T12:00:00.000Z';
  expect(await read()).toEqual({ since, complete: true, agents: expected });
  await count();
  expect(await read()).toEqual({ since, complete: true, agents: expected });
  expect((await read(24, 2)).agents).toEqual(expected.slice(0, 2));
  expect((await read(23)).agents).toEqual(expected.slice(1));
  expect((await read(1)).agents).toEqual([
    { agentId: two, ...none, rateLimited: 7 },
    { agentId: one, ...none, denied: 1 },
  ]);
  await write([{ agentId: one, outcome: 'error', count: 20 }]);
  expect((await read(1, 1)).agents).toEqual([{ agentId: one, ...none, denied: 1, errors: 20 }]);
});

it('an account without requests has no active agents', async () => {
  expect(await read()).toEqual({ since: '2026-11-19T13:00:00.000Z', complete: true, agents: [] });
});

it('of more agents than are looked at the most active ones are found, and it is said where one may be missing', async () => {
  const busy: Id<'agt'> = newId('agt');
  const others = Array.from({ length: 301 }, (): Partial<NewAuditEvent> => ({
    agentId: newId('agt'),
    count: 3,
  }));
  await write([...others, { agentId: busy, count: 15 }]);
  await count();
  const { agents, ...rest } = await read(1, 1);
  expect(agents).toEqual([{ agentId: busy, ...none, accesses: 15 }]);
  // Of those that were not looked at, none has more than 3 of each of four outcomes.
  expect(rest.complete).toBe(true);
  expect((await read(1, 2)).complete).toBe(false);
  clock.jump(HOUR);
  await write(others);
  await count();
  expect(await read(2, 1)).toMatchObject({ complete: false, agents: [{ agentId: busy }] });
});
