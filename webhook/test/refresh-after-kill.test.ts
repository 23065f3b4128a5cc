/** R2 for refreshes, in short: the kills that matter most. 200 more of them are in refresh-kill.hard.test.ts. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ManualClock } from '@svault/shared';
import { type RefreshBench, refreshBench } from './refresh-bench.ts';
import { afterKill, refreshUntilKilled, storeFetched } from './refresh-until-killed.ts';

let bench: RefreshBench;
beforeAll(async () => {
  bench = await refreshBench({ clock: new ManualClock(Date.now()) });
  bench.provider.expiresIn = 0;
});
afterAll(() => bench.close());

it.each([
  ['call dropped', 'is tried once more, and nothing is lost', 0],
  ['call served', 'is shown as lost after one try, and is never tried blindly', 1],
] as const)('a refresh that a kill cuts off (%s) %s', async (moment, _what, expected) => {
  const tokens = [await storeFetched(bench, moment)];
  await bench.webhook.stop();
  await refreshUntilKilled(bench, tokens, { moment, afterCalls: 2 });
  const calls = bench.provider.calls.length;
  await bench.webhook.restart();
  const { wrong, lost } = await afterKill(bench, tokens);
  expect([wrong, lost]).toEqual([[], expected]);
  const outcomes = bench.provider.calls.slice(calls).map(({ outcome }) => outcome);
  expect(outcomes.filter((outcome) => outcome === 'invalid_grant')).toHaveLength(expected);
});
