import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Id, newId } from '@svault/shared';
import { describe, expect, it } from 'vitest';
import { type AuditEvent, stampEvent } from '../core/audit-event.ts';
import { EMPTY_CHAIN, linkEvent } from './chain.ts';
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

describe('a vault that is verified again and again', () => {
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

  it('has one run at a time, and one for all who asked during it', async () => {
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

  it('waits for no other vault, and not for a run that failed', async () => {
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
