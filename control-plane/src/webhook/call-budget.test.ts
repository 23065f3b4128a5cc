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

describe('the budget of one account', () => {
  it('lets eight calls be under way, the next ones in the order in which they came, and others at once', async () => {
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

  it('keeps 64 waiting, and nobody longer than they want to', async () => {
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

  it('takes answers of 8 MiB in a minute, tells once when they exceed that, and goes on as the minute passes', async () => {
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

  it('takes 2,048 calls in a minute, however short their answers are', async () => {
    const { call } = budgetOf();
    for (let n = 0; n < 2_049; n++) await call(0);
    await expect(call(0)).rejects.toMatchObject({ failure: 'held_back' });
  });
});
