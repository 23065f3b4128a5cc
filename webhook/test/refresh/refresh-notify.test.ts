/** `POST /v1/refresh-notify` (PROTOCOL.md section 7, REF-01 to REF-04). */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { formatTime } from '@svault/shared';
import { type RefreshBench, refreshBench } from '../support/refresh-bench.ts';

let bench: RefreshBench;
beforeAll(async () => {
  bench = await refreshBench();
});
afterAll(() => bench.close());
beforeEach(() => bench.provider.misbehave(undefined));

const inAnHour = (): string => formatTime(bench.webhook.clock.now() + 3_600_000);

// spec: POST /v1/refresh-notify | service, signed | Tells the webhook that a token needs refresh (notify-only refresh).
it('a notice waits for the provider if the token is needed now', async () => {
  for (const reason of ['expired', 'manual']) {
    await bench.store(reason);
    const { status, json } = await bench.notify(reason, { reason });
    expect([status, json]).toEqual([200, { outcome: 'refreshed', expiryTime: inAnHour() }]);
    expect((await bench.metadata(reason)).version).toBe(2);
  }
});

it('a notice is answered at once if the token expires soon, and the token is refreshed', async () => {
  await bench.store('expiring', { expiresIn: 7_200 });
  const before = bench.provider.calls.length;
  const gate = bench.provider.hold();
  const accepted = await bench.notify('expiring', { reason: 'expiring' });
  expect([accepted.status, accepted.json]).toEqual([202, { accepted: true }]);
  await bench.provider.arrived(before + 1);
  // Whoever asks meanwhile shares the call.
  expect((await bench.notify('expiring', { reason: 'expiring' })).status).toBe(202);
  gate.release();
  while ((await bench.metadata('expiring')).version === 1);
  expect(bench.provider.calls).toHaveLength(before + 1);
});

it('a notice reports a failure and the state of the record', async () => {
  await bench.store('failing');
  bench.provider.misbehave({ status: 503 });
  expect((await bench.notify('failing')).json).toEqual({ outcome: 'failed', providerReason: 'status 503' });
  expect(await bench.metadata('failing')).not.toHaveProperty('reauthNeeded');
  bench.provider.misbehave({ status: 400, body: '{"error":"invalid_grant"}' });
  expect((await bench.notify('failing')).json).toEqual({
    outcome: 'failed',
    providerReason: 'status 400, invalid_grant',
  });
  const again = await bench.notify('failing', { reason: 'expiring' });
  expect([again.status, again.json.code]).toEqual([422, 'REAUTH_NEEDED']);
});

it('notices make at most ten calls an hour for a token, by the monotonic clock', async () => {
  const { provider, webhook } = bench;
  await bench.store('often');
  await bench.store('another');
  const before = provider.calls.length;
  for (let call = 0; call < 10; call += 1) {
    expect((await bench.notify('often')).json.outcome).toBe('refreshed');
    webhook.clock.advance(60_000);
  }
  webhook.clock.jump(86_400_000);
  for (const reason of ['manual', 'expiring']) {
    const refused = await bench.notify('often', { reason });
    expect([refused.status, refused.json.code, refused.headers.get('retry-after')]).toEqual([
      429,
      'RATE_LIMITED',
      '3000',
    ]);
  }
  const get = await bench.refresh({ phase: 'get', serviceName: 'often' });
  expect([get.status, get.headers.get('retry-after')]).toEqual([429, '3000']);
  const fetched = await webhook.credential('often');
  expect([fetched.status, fetched.json.retryAfter]).toEqual([429, 3000]);
  expect(provider.calls).toHaveLength(before + 10);
  expect((await bench.notify('another')).json.outcome).toBe('refreshed');

  webhook.clock.advance(3_000_000 - 1);
  expect((await bench.notify('often')).status).toBe(429);
  webhook.clock.advance(1);
  expect((await bench.notify('often')).json.outcome).toBe('refreshed');
  expect((await bench.notify('often')).status).toBe(429);
});
