import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Id, newId } from '@svault/shared';
import { expect, it } from 'vitest';
import { type AuditEvent, stampEvent } from './audit-event.ts';
import { EMPTY_CHAIN, linkEvent } from './chain.ts';
import { verifyLog } from './verify-log.ts';

const vaultId: Id<'vlt'> = newId('vlt');

function chainOf(length: number): readonly AuditEvent[] {
  const events: AuditEvent[] = [];
  for (let seq = 1; seq <= length; seq++) {
    const event = stampEvent({ vaultId, eventType: 'LOGIN', outcome: 'success' }, Date.UTC(2026, 10, 20));
    events.push(linkEvent(events.at(-1) ?? EMPTY_CHAIN, event));
  }
  return events;
}

/** A store that answers within the turn, as SQLite in the process does. */
const logOf = (events: readonly AuditEvent[]) => ({
  after: async (_vaultId: Id<'vlt'>, seq: number, limit: number) => events.slice(seq, seq + limit),
  chainOf: async () => ({ start: EMPTY_CHAIN, head: events.at(-1) ?? EMPTY_CHAIN }),
});

it('follows a chain over many pages to its head, and serves others in between', async () => {
  const events = chainOf(2_000);
  let turns = 0;
  let done = false;
  const verdict = verifyLog(logOf(events), vaultId).finally(() => (done = true));
  while (!done) {
    await nextTurn();
    turns++;
  }
  expect(await verdict).toMatchObject({ intact: true, events: 2_000, head: { seq: 2_000 } });
  expect(turns).toBeGreaterThanOrEqual(4);
});

it('finds an event that is missing beyond the first page', async () => {
  const events = chainOf(1_200);
  const log = { ...logOf(events.toSpliced(900, 1)), chainOf: logOf(events).chainOf };
  expect(await verifyLog(log, vaultId)).toEqual({ intact: false, seq: 901, problem: 'missing' });
});
