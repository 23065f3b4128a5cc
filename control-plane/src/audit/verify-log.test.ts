import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Id, newId } from '@svault/shared';
import { describe, expect, it } from 'vitest';
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
  chainOf: async () => ({ start: EMPTY_CHAIN, head: events.at(-1) ?? EMPTY_CHAIN, shippedSeq: 0 }),
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

describe('while retention removes what is old', () => {
  /** A log whose old end moves before the page that `beforePage` counts is read. */
  const trimmed = (events: readonly AuditEvent[], to: number, beforePage: number) => {
    let pages = 0;
    let kept = events;
    const whole = logOf(events);
    return {
      after: async (vaultId: Id<'vlt'>, seq: number, limit: number) => {
        if (++pages === beforePage) kept = events.slice(to);
        return (await whole.after(vaultId, seq, limit)).filter((event) => kept.includes(event));
      },
      chainOf: async () => {
        const start = kept === events ? EMPTY_CHAIN : (events[to - 1] ?? EMPTY_CHAIN);
        return { ...(await whole.chainOf()), start };
      },
    };
  };

  it.each([
    ['behind what is being looked at', 1_400],
    ['up to the last one', 1_999],
    ['within what was looked at already', 300],
  ])('it goes on: removed %s', async (_where, to) => {
    expect(await verifyLog(trimmed(chainOf(2_000), to, 2), vaultId)).toMatchObject({ intact: true });
  });

  it('finds what is changed behind the new start', async () => {
    const events = chainOf(2_000);
    const tampered = events.map((event) =>
      event.seq === 1_800 ? ({ ...event, outcome: 'denied' } as const) : event,
    );
    const verdict = await verifyLog(trimmed(tampered, 1_400, 2), vaultId);
    expect(verdict).toEqual({ intact: false, seq: 1_800, problem: 'changed' });
  });
});
