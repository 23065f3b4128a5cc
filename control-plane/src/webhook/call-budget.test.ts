import { type Id, ManualClock } from '@svault/shared';
import { describe, expect, it } from 'vitest';
import { createCallBudget } from './call-budget.ts';

const [ONE, OTHER] = ['vlt_1' as Id<'vlt'>, 'vlt_2' as Id<'vlt'>];
const MIB = 1024 * 1024;
const WAITING = { timeoutMs: 60_000 };

function budgetOf() {
  const clock = new ManualClock();
  const exceeded: string[] = [];
  const budget = createCallBudget({ clock, onExceeded: (vaultId) => exceeded.push(vaultId) });
  const call = async (bytes: number, vaultId = ONE): Promise<void> =>
    (await budget.enter(vaultId, WAITING)).leave(bytes);
  return { clock, budget, exceeded, call };
}

describe('the call budget of an account', () => {
  it('admits eight calls at once and the next ones in their order, and does not delay other accounts', async () => {
    const { budget } = budgetOf();
    const places = await Promise.all(Array.from({ length: 8 }, () => budget.enter(ONE, WAITING)));
    const entered: number[] = [];
    const waiting = [1, 2].map((n) => budget.enter(ONE, WAITING).then((place) => (entered.push(n), place)));
    await budget.enter(OTHER, WAITING);
    expect(entered).toEqual([]);
    places[0]?.leave(0);
    places[0]?.leave(0);
    await waiting[0];
    expect(entered).toEqual([1]);
    places[1]?.leave(0);
    await waiting[1];
    expect(entered).toEqual([1, 2]);
  });

  it('queues 64 calls, each no longer than its timeout and until its signal aborts', async () => {
    const { budget } = budgetOf();
    for (let n = 0; n < 8; n++) await budget.enter(ONE, WAITING);
    const ended = new AbortController();
    const waiting = Array.from({ length: 63 }, () =>
      budget.enter(ONE, { ...WAITING, signal: ended.signal }).catch((error: unknown) => error),
    );
    await expect(budget.enter(ONE, { timeoutMs: 1 })).rejects.toMatchObject({ failure: 'held_back' });
    waiting.push(budget.enter(ONE, { ...WAITING, signal: ended.signal }).catch((error: unknown) => error));
    await expect(budget.enter(ONE, WAITING)).rejects.toMatchObject({ failure: 'held_back' });
    ended.abort(new Error('gone'));
    expect(new Set((await Promise.all(waiting)).map(String))).toEqual(new Set(['Error: gone']));
  });

  it('allows 8 MiB of answers a minute, reports each time that they are spent, and recovers as time passes', async () => {
    const { clock, call, exceeded } = budgetOf();
    for (let n = 0; n < 7; n++) await call(MIB);
    expect(exceeded).toEqual([]);
    await call(MIB);
    expect(exceeded).toEqual([ONE]);
    await expect(call(0)).rejects.toMatchObject({ failure: 'held_back', retryAfterSeconds: 1 });
    await call(MIB, OTHER);
    clock.advance(30_000);
    for (let n = 0; n < 4; n++) await call(MIB);
    await expect(call(0)).rejects.toMatchObject({ failure: 'held_back' });
    expect(exceeded).toEqual([ONE, ONE]);
  });

  it('allows 2,048 calls a minute, however short their answers are', async () => {
    const { call } = budgetOf();
    for (let n = 0; n < 2_049; n++) await call(0);
    await expect(call(0)).rejects.toMatchObject({ failure: 'held_back' });
  });
});
