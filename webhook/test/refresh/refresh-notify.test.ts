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
it('waits for the provider where the token is needed now', async () => {
  for (const reason of ['expired', 'manual']) {
    await bench.store(reason);
    const { status, json } = await bench.notify(reason, { reason });
    expect([status, json]).toEqual([200, { outcome: 'refreshed', expiryTime: inAnHour() }]);
    expect((await bench.metadata(reason)).version).toBe(2);
  }
});

it('answers at once where it expires soon, and refreshes it though it has time', async () => {
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

it('answers not_refreshable without a sealed provider or a refresh token, whatever a hint says', async () => {
  const before = bench.provider.calls.length;
  const hints = { tokenUrl: bench.provider.url, clientId: 'client', expiresAt: inAnHour() };
  const jwt = { tokenType: 'JWT', accessToken: 'at', expiryTime: formatTime(bench.webhook.clock.now()) };
  const provider = { tokenUrl: bench.provider.url, clientId: 'client' };
  const bodies = [
    { ...jwt, refreshToken: 'rt' },
    { ...jwt, provider },
    { ...jwt, refreshToken: '', provider },
    { tokenType: 'PlainText', value: 'v' },
  ];
  for (const [at, body] of bodies.entries()) {
    await bench.webhook.store(`plain ${at}`, body);
    const { status, json } = await bench.notify(`plain ${at}`, hints);
    expect([status, json]).toEqual([200, { outcome: 'not_refreshable' }]);
  }
  expect(bench.provider.calls).toHaveLength(before);
});

it('calls the sealed token URL as the sealed client, whatever a hint says', async () => {
  await bench.store('hinted');
  const before = bench.provider.calls.length;
  const hints = { tokenUrl: 'http://127.0.0.1:9/elsewhere', clientId: 'somebody else' };
  expect((await bench.notify('hinted', hints)).json.outcome).toBe('refreshed');
  expect(bench.provider.calls).toHaveLength(before + 1);
  expect(bench.log.text).not.toContain('elsewhere');
});

it('refuses what only the service can refresh, and what is not there', async () => {
  await bench.store('mediated', { provider: { mediated: true } });
  const mediated = await bench.notify('mediated');
  expect([mediated.status, mediated.json.code, mediated.headers.get('retry-after')]).toEqual([
    409,
    'REFRESH_NEEDED',
    '5',
  ]);
  expect((await bench.notify('nowhere')).json.code).toBe('NOT_FOUND');
});

it('says that it failed, and what the record is afterwards', async () => {
  await bench.store('failing');
  bench.provider.misbehave({ status: 503 });
  expect((await bench.notify('failing')).json).toEqual({ outcome: 'failed' });
  expect(await bench.metadata('failing')).not.toHaveProperty('reauthNeeded');
  bench.provider.misbehave({ status: 400, body: '{"error":"invalid_grant"}' });
  expect((await bench.notify('failing')).json).toEqual({ outcome: 'failed' });
  const again = await bench.notify('failing', { reason: 'expiring' });
  expect([again.status, again.json.code]).toEqual([422, 'REAUTH_NEEDED']);
});

it('makes at most ten calls an hour for a token, by the monotonic clock', async () => {
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

it.each([
  ['a foreign reason', { serviceName: 'x', reason: 'because' }],
  ['no reason', { serviceName: 'x' }],
  ['no name', { reason: 'manual' }],
  ['a name that is none', { serviceName: 'a/b', reason: 'manual' }],
  ['a hint that is no text', { serviceName: 'x', reason: 'manual', tokenUrl: 1 }],
  ['a time that is none', { serviceName: 'x', reason: 'manual', expiresAt: 'soon' }],
  ['no object', []],
])('refuses %s', async (_what, body) => {
  const { status, json } = await bench.webhook.signed('/v1/refresh-notify', body);
  expect([status, json.code]).toEqual([400, 'INVALID_REQUEST']);
});

it.each(['/v1/refresh-notify', '/v1/refresh'])('%s takes signed POSTs alone', async (path) => {
  await bench.store('unsigned');
  const before = bench.provider.calls.length;
  const body = JSON.stringify({ serviceName: 'unsigned', reason: 'manual', phase: 'get' });
  const headers = { 'content-type': 'application/json' };
  const unsigned = await bench.webhook.send(path, { method: 'POST', headers, body });
  expect([unsigned.status, unsigned.json.code]).toEqual([401, 'SIGNATURE_INVALID']);
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']) {
    const { status, headers: given } = await bench.webhook.send(path, { method });
    expect([method, status, given.get('allow')]).toEqual([method, 405, 'POST']);
  }
  expect(bench.provider.calls).toHaveLength(before);
});
