/** R2 for refreshes, in short: the kills that matter most. 200 more of them are in refresh-kill.hard.test.ts. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ManualClock } from '@svault/shared';
import { type RefreshBench, refreshBench } from '../support/refresh-bench.ts';
import { afterKill, refreshUntilKilled, storeFetched } from '../support/refresh-until-killed.ts';

let bench: RefreshBench;
beforeAll(async () => {
  bench = await refreshBench({ clock: new ManualClock(Date.now()) });
  bench.provider.expiresIn = 0;
});
afterAll(() => bench.close());

it.each([
  ['call dropped', 'is tried once more, and nothing is lost', 0],
  ['call served', 'is shown as lost after one try, and is never tried blindly', 1],
] as const)('a refresh that a kill interrupts (%s) %s', async (moment, _what, expected) => {
  const tokens = [await storeFetched(bench, moment)];
  await bench.webhook.stop();
  await refreshUntilKilled(bench, tokens, { moment, afterCalls: 2 });
  const calls = bench.provider.calls.length;
  await bench.webhook.restart();
  // By itself: nobody has asked for it yet.
  await bench.provider.arrived(calls + 1);
  const { wrong, lost } = await afterKill(bench, tokens);
  expect([wrong, lost]).toEqual([[], expected]);
  const outcomes = bench.provider.calls.slice(calls).map(({ outcome }) => outcome);
  expect(outcomes.filter((outcome) => outcome === 'invalid_grant')).toHaveLength(expected);
});

it('after the next start is left to the control plane if only that can refresh it', async () => {
  const { provider, webhook } = bench;
  const mediated = await bench.store('a mediated one', { provider: { mediated: true } });
  const own = await bench.store('b of its own');
  provider.misbehave({ status: 503 });
  const { leaseId } = (await bench.refresh({ phase: 'get', serviceName: 'a mediated one' })).json;
  await bench.refresh({ phase: 'update', leaseId });
  await bench.notify('b of its own');
  provider.misbehave(undefined);
  const before = provider.calls.length;
  await webhook.restart();
  await provider.arrived(before + 1);
  expect(provider.gave(await bench.fetch('b of its own'))).toBe(true);
  const shown = provider.calls.slice(before).map(({ form }) => form.get('refresh_token'));
  expect(shown).toContain(own.refreshToken);
  expect(shown).not.toContain(mediated.refreshToken);
});

it('that is interrupted continues at the next start, and is no error', async () => {
  const { provider, webhook, log } = bench;
  const names = Array.from({ length: 7 }, (_, at) => `cut off ${at}`);
  provider.misbehave({ status: 503 });
  for (const name of names) {
    await bench.store(name);
    await bench.notify(name);
  }
  provider.misbehave(undefined);
  const gate = provider.hold();
  const before = provider.calls.length;
  await webhook.restart();
  // So many are called at once.
  await provider.arrived(before + 4);
  const restarted = webhook.restart();
  // Until it listens no more, and then some.
  const looks = async (): Promise<boolean> => webhook.send('/healthz').then(Boolean, () => false);
  while (await looks());
  for (let look = 0; look < 100; look += 1) await looks();
  gate.release();
  await restarted;
  await provider.arrived(before + names.length);
  for (const name of names) expect(provider.gave(await bench.fetch(name))).toBe(true);
  expect(log.text).not.toContain('could not be taken up again');
});
