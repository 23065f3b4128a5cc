import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Id, newId } from '@svault/shared';
import { describe, expect, it } from 'vitest';
import { type AuditEvent, stampEvent } from '../core/audit-event.ts';
import { EMPTY_CHAIN } from '@svault/shared/audit-chain';
import { linkEvent } from './chain.ts';
import { createLogVerification, verifyLog } from './verify.ts';

const vaultId: Id<'vlt'> = newId('vlt');

function chainOf(length: number): readonly AuditEvent[] {
  const events: AuditEvent[] = [];
  for (let seq = 1; seq <= length; seq++) {
    const event = stampEvent({ vaultId, eventType: 'LOGIN', outcome: 'success' }, Date.UTC(2026, 10, 20));
    events.push(linkEvent(events.at(-1) ?? EMPTY_CHAIN, event));
  }
  return events;
}

/** A store that answers within the turn, as SQLite does. */
const logOf = (events: readonly AuditEvent[]) => ({
  after: async (_vaultId: Id<'vlt'>, seq: number, limit: number) => events.slice(seq, seq + limit),
  chainOf: async () => ({ start: EMPTY_CHAIN, head: events.at(-1) ?? EMPTY_CHAIN, shippedSeq: 0 }),
});

it('verifyLog verifies a chain of many pages and lets other work run in between', async () => {
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

describe('createLogVerification', () => {
  const counting = (events: readonly AuditEvent[]) => {
    const log = logOf(events);
    const runs = { begun: 0, atOnce: 0, most: 0 };
    return {
      runs,
      after: async (id: Id<'vlt'>, seq: number, limit: number) => {
        const first = seq === Number.MIN_SAFE_INTEGER;
        const last = seq === events.length;
        if (first) {
          runs.begun++;
          runs.most = Math.max(runs.most, ++runs.atOnce);
        }
        if (last) runs.atOnce--;
        return log.after(id, first ? 0 : seq, limit);
      },
      chainOf: log.chainOf,
    };
  };

  it('runs once at a time, and once more for all calls during a run', async () => {
    const log = counting(chainOf(1_100));
    const verify = createLogVerification(log);
    const first = verify(vaultId);
    await nextTurn();
    const verdicts = await Promise.all([first, ...Array.from({ length: 50 }, () => verify(vaultId))]);
    expect(verdicts.every(({ intact }) => intact)).toBe(true);
    expect(log.runs).toMatchObject({ begun: 2, most: 1 });
    await verify(vaultId);
    expect(log.runs).toMatchObject({ begun: 3, most: 1 });
  });

  it('does not wait for another vault, or for a failed run', async () => {
    const log = counting(chainOf(600));
    let failing = true;
    const verify = createLogVerification({
      ...log,
      chainOf: () => (failing ? Promise.reject(new Error('away')) : log.chainOf()),
    });
    const [one, two] = [verify(vaultId), verify(vaultId)];
    failing = false;
    await expect(one).rejects.toThrow('away');
    expect(await two).toMatchObject({ intact: true });
    const long = verify(vaultId);
    expect(await verify(newId('vlt'))).toMatchObject({ intact: true });
    await long;
    expect(log.runs.most).toBe(2);
  });
});

describe('verifyLog, while retention removes events', () => {
  /** A log whose first `to` events are removed before the page number `beforePage` is read. */
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
    ['events ahead of the verified page', 1_400],
    ['all but the last event', 1_999],
    ['events that are verified already', 300],
  ])('continues where retention removed %s', async (_where, to) => {
    expect(await verifyLog(trimmed(chainOf(2_000), to, 2), vaultId)).toMatchObject({ intact: true });
  });

  it('finds a changed event after the new start', async () => {
    const events = chainOf(2_000);
    const tampered = events.map((event) =>
      event.seq === 1_800 ? ({ ...event, outcome: 'denied' } as const) : event,
    );
    const verdict = await verifyLog(trimmed(tampered, 1_400, 2), vaultId);
    expect(verdict).toEqual({ intact: false, seq: 1_800, problem: 'changed' });
  });
});
