/** What takes a provider's whole 8 seconds (PROTOCOL.md section 2). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RefreshBench, refreshBench } from '../support/refresh-bench.ts';

let bench: RefreshBench;
beforeAll(async () => {
  bench = await refreshBench();
});
afterAll(() => bench.close());

test('a provider that never answers is a PROVIDER_TIMEOUT for all waiting callers, and the outcome is shown afterwards', async () => {
  const { provider, webhook } = bench;
  await bench.store('never');
  provider.misbehave('never');
  const fetches = Array.from({ length: 20 }, () => webhook.credential('never'));
  const notified = bench.notify('never', { reason: 'expired' });
  await provider.arrived(1);
  for (const { status, json } of await Promise.all(fetches))
    expect([status, json.code]).toEqual([504, 'PROVIDER_TIMEOUT']);
  // Answered before the service gives up on it, 10 s after it asked.
  expect((await notified).json).toEqual({ outcome: 'failed' });
  expect(provider.calls).toHaveLength(1);
  provider.misbehave(undefined);
  // It had rotated.
  expect(await bench.fetch('never')).toBe('REAUTH_NEEDED');
});

test('a notice is accepted if a lease lasts longer than it may wait', async () => {
  const { provider, webhook } = bench;
  await bench.store('leased');
  await bench.refresh({ phase: 'get', serviceName: 'leased' });
  const before = provider.calls.length;
  const { status, json } = await bench.notify('leased', { reason: 'expired' });
  expect([status, json]).toEqual([202, { accepted: true }]);
  expect(provider.calls).toHaveLength(before);
  webhook.clock.advance(30_000);
  await provider.arrived(before + 1);
  expect(provider.gave(await bench.fetch('leased'))).toBe(true);
});
