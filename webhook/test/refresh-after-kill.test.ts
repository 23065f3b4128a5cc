/** R2 for refreshes, in short: the kills that matter most. 200 more of them are in refresh-kill.hard.test.ts. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ManualClock } from '@svault/shared';
import { type RefreshBench, refreshBench } from './refresh-bench.ts';
import { type FetchedToken, afterKill, refreshUntilKilled, storeFetched } from './refresh-until-killed.ts';

let bench: RefreshBench;
let tokens: FetchedToken[];
beforeAll(async () => {
  bench = await refreshBench({ clock: new ManualClock(Date.now()) });
  bench.provider.expiresIn = 0;
  tokens = [await storeFetched(bench, 'one'), await storeFetched(bench, 'two')];
});
afterAll(() => bench.close());

it.each([
  ['call dropped', 'is tried once more, and nothing is lost'],
  ['call served', 'is shown as lost after one try, and is never tried blindly'],
] as const)('a refresh that a kill cuts off (%s) %s', async (moment) => {
  await bench.webhook.stop();
  await refreshUntilKilled(bench, tokens, { moment, afterCalls: 2 });
  const calls = bench.provider.calls.length;
  await bench.webhook.restart();
  const { wrong, lost } = await afterKill(bench, tokens);
  expect(wrong).toEqual([]);
  if (moment === 'call dropped') expect(lost).toBe(0);
  else expect(lost).toBeGreaterThan(0);
  const outcomes = bench.provider.calls.slice(calls).map(({ outcome }) => outcome);
  expect(outcomes.filter((outcome) => outcome === 'invalid_grant')).toHaveLength(lost);
});
