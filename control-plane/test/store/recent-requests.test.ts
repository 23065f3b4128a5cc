import { ManualClock } from '@svault/shared';
import { beforeEach, expect, test } from 'vitest';
import { readRecentRequests } from '../../src/audit/recent-requests.ts';
import type { NewAuditEvent } from '../../src/core/audit-event.ts';
import type { Database } from '../../src/store/database.ts';
import { useStore } from './open-store.ts';
import { type StoredAccess, storeAccess } from './stored-access.ts';

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00.000Z'));
let database: Database;
let stored: StoredAccess;

useStore((opened) => (database = opened), clock);
beforeEach(async () => {
  stored = await storeAccess(database, clock);
});

const LOGIN = { eventType: 'LOGIN', outcome: 'success' } as const;
const REQUEST = { eventType: 'AGENT_CREDENTIAL_ACCESS', outcome: 'success' } as const;
const REJECTED = {
  eventType: 'PROXY_CREDENTIAL_USE',
  outcome: 'error',
  detail: { code: 'UPSTREAM_UNAUTHORIZED' },
} as const;

/** Appends so many equal events a second after the others. */
async function append(count: number, event: Omit<NewAuditEvent, 'vaultId'>): Promise<string> {
  clock.advance(1_000);
  const { vaultId } = stored;
  await database.unitOfWork.run(vaultId, ({ audit }) =>
    audit.appendAll(Array.from({ length: count }, () => ({ ...event, vaultId }))),
  );
  return new Date(clock.now()).toISOString();
}

const read = () => readRecentRequests(database.stores.audit, stored.vaultId);

test('the newest requests of a short log are all of them, without other events and second events of one request', async () => {
  expect(await read()).toEqual({ events: [], since: undefined, isComplete: true });
  const first = await append(1, LOGIN);
  await append(2, REQUEST);
  await append(1, REJECTED);
  const { events, ...covered } = await read();
  expect(covered).toEqual({ since: first, isComplete: true });
  expect(events.map(({ seq, eventType }) => [seq, eventType])).toEqual([
    [3, REQUEST.eventType],
    [2, REQUEST.eventType],
  ]);
});

test('at most 1,000 requests are read, and the time is that of the oldest of them', async () => {
  await append(1, REQUEST);
  const since = await append(400, REQUEST);
  await append(600, REQUEST);
  const { events, ...covered } = await read();
  expect(covered).toEqual({ since, isComplete: false });
  expect([events.length, events[0]?.seq, events.at(-1)?.seq]).toEqual([1_000, 1_001, 2]);
});

test('of a log with few requests 5,000 events are read', async () => {
  await append(10, REQUEST);
  const since = await append(5_000, LOGIN);
  expect(await read()).toEqual({ events: [], since, isComplete: false });
});
