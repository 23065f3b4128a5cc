/** `POST /v1/refresh`: leases, and refreshes under them (PROTOCOL.md section 7, REF-06 to REF-16). */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '@svault/server-kit/logger';
import { formatTime } from '@svault/shared';
import { refreshLeaseSchema } from '@svault/shared/schemas';
import { webhookConfig } from '../../src/config/config.ts';
import { openContext } from '../../src/context.ts';
import type { Answer } from '../support/bound-webhook.ts';
import { CLIENT, type RefreshBench, refreshBench } from '../support/refresh-bench.ts';

let bench: RefreshBench;
beforeAll(async () => {
  bench = await refreshBench();
});
afterAll(() => bench.close());
beforeEach(() => bench.provider.misbehave(undefined));

const MEDIATED = { provider: { mediated: true, clientSecret: undefined } };
const SECRET = { clientSecret: CLIENT.secret };
const get = (serviceName: string): Promise<Answer> => bench.refresh({ phase: 'get', serviceName });
const update = (leaseId: string, more: object = SECRET): Promise<Answer> =>
  bench.refresh({ phase: 'update', leaseId, ...more });
/** A lease on a fresh, expired token of a mediated provider. */
const leased = async (name: string): Promise<string> => {
  await bench.store(name, MEDIATED);
  return (await get(name)).json.leaseId;
};
const inAnHour = (): string => formatTime(bench.webhook.clock.now() + 3_600_000);

describe('the two phases', () => {
  // spec: POST /v1/refresh | service, signed | TV-mediated two-phase get/update refresh.
  it('refresh a token that never reaches the control plane', async () => {
    const { provider } = bench;
    const expiryTime = formatTime(bench.webhook.clock.now() - 1_000);
    const pair = await bench.store('mediated', { provider: { ...MEDIATED.provider, scope: 'a b' } });
    const lease = await get('mediated');
    expect([lease.status, lease.json]).toEqual([
      200,
      {
        leaseId: expect.any(String),
        leaseSeconds: 30,
        tokenUrl: provider.url,
        clientId: CLIENT.id,
        authMethod: 'client_secret_basic',
        scope: 'a b',
        expiryTime,
      },
    ]);
    refreshLeaseSchema.parse(lease.json);
    const done = await update(lease.json.leaseId);
    expect([done.status, done.json]).toEqual([200, { outcome: 'refreshed', expiryTime: inAnHour() }]);
    expect(provider.calls.at(-1)?.form.get('scope')).toBe('a b');
    const fresh = await bench.fetch('mediated');
    expect(provider.gave(fresh)).toBe(true);
    for (const { text } of [lease, done])
      for (const secret of [fresh, pair.accessToken, pair.refreshToken]) expect(text).not.toContain(secret);
    expect((await bench.entries('mediated')).map(({ detail }) => detail.cause)).toContain('lease');
  });

  it('authenticate with an assertion of the control plane if the provider requires one', async () => {
    const { provider } = bench;
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    provider.register({ id: 'by key', method: 'private_key_jwt', publicKey, algorithm: 'ES256' });
    const settings = {
      clientId: 'by key',
      authMethod: 'private_key_jwt',
      mediated: true,
      clientSecret: undefined,
    };
    await bench.store('asserted', { provider: settings, body: provider.grant('by key') });
    const { json } = await get('asserted');
    const without = await update(json.leaseId);
    expect([without.status, without.json.code]).toEqual([400, 'INVALID_REQUEST']);
    const clientAssertion = await new SignJWT({ jti: randomUUID() })
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuer('by key')
      .setSubject('by key')
      .setAudience(provider.url)
      .setExpirationTime('60s')
      .sign(privateKey);
    expect((await update(json.leaseId, { clientAssertion })).json.outcome).toBe('refreshed');
  });
});

describe('a lease', () => {
  it('is exclusive for a token until it expires', async () => {
    const { webhook } = bench;
    const first = await leased('contested');
    webhook.clock.advance(10_500);
    const busy = await get('contested');
    expect([busy.status, busy.json.code, busy.headers.get('retry-after')]).toEqual([
      409,
      'REFRESH_BUSY',
      '20',
    ]);
    const others = await Promise.all(Array.from({ length: 10 }, () => get('contested')));
    expect(others.every(({ json }) => json.code === 'REFRESH_BUSY')).toBe(true);
    // The wall clock has no say.
    webhook.clock.jump(3_600_000);
    expect((await get('contested')).json.retryAfter).toBe(20);
    webhook.clock.advance(19_499);
    expect((await get('contested')).json.retryAfter).toBe(1);
    webhook.clock.advance(1);
    const second = (await get('contested')).json.leaseId;
    const before = bench.provider.calls.length;
    const late = await update(first);
    expect([late.status, late.json.code]).toEqual([409, 'LEASE_EXPIRED']);
    expect(bench.provider.calls).toHaveLength(before);
    expect((await update(second)).json.outcome).toBe('refreshed');
    expect((await get('contested')).status).toBe(200);
  });

  it('returns the recorded outcome for 5 minutes, without a call', async () => {
    const { provider, webhook } = bench;
    const leaseId = await leased('repeated');
    const before = provider.calls.length;
    const answers = await Promise.all(Array.from({ length: 5 }, () => update(leaseId)));
    const [{ text } = { text: '' }] = answers;
    expect(text).toContain('refreshed');
    expect(new Set(answers.map((answer) => answer.text))).toEqual(new Set([text]));
    webhook.clock.advance(5 * 60_000 - 1);
    expect((await update(leaseId)).text).toBe(text);
    expect(provider.calls).toHaveLength(before + 1);
    webhook.clock.advance(1);
    expect((await update(leaseId)).json.code).toBe('LEASE_EXPIRED');
    expect(provider.calls).toHaveLength(before + 1);
  });

  it('is held while its provider call runs, whatever the clock says', async () => {
    const { provider, webhook } = bench;
    const leaseId = await leased('slow');
    const before = provider.calls.length;
    const gate = provider.hold();
    const updated = update(leaseId);
    await provider.arrived(before + 1);
    webhook.clock.advance(60_000);
    expect((await get('slow')).json.code).toBe('REFRESH_BUSY');
    gate.release();
    expect((await updated).json.outcome).toBe('refreshed');
  });

  it('that is never used delays the webhook’s own refresh until it expires, and no longer', async () => {
    const { provider, webhook } = bench;
    await bench.store('forgotten');
    await get('forgotten');
    const before = provider.calls.length;
    const notified = bench.notify('forgotten', { reason: 'expiring' });
    expect((await notified).status).toBe(202);
    // Time enough for a call, if it did not wait.
    for (let look = 0; look < 10; look += 1) expect((await get('forgotten')).json.code).toBe('REFRESH_BUSY');
    expect(provider.calls).toHaveLength(before);
    const fetched = bench.fetch('forgotten');
    webhook.clock.advance(30_000);
    expect(provider.gave(await fetched)).toBe(true);
    expect(provider.calls).toHaveLength(before + 1);
  });

  it('is dropped by a restart', async () => {
    const leaseId = await leased('dropped');
    await bench.webhook.restart();
    expect((await update(leaseId)).json.code).toBe('LEASE_EXPIRED');
    expect((await get('dropped')).status).toBe(200);
  });
});

it('a lease that is used during a stop makes no call, since the response could not be stored', async () => {
  const { provider, webhook } = bench;
  await bench.store('stopped');
  await webhook.stop();
  const { clock } = webhook;
  const context = await openContext(webhookConfig(webhook.env), { clock, logger: silentLogger });
  const { leaseId } = context.refreshing.leases.get('stopped');
  const before = provider.calls.length;
  await context.refreshing.close();
  await expect(context.refreshing.leases.update(leaseId, {})).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  context.close();
  await webhook.restart();
  expect(provider.calls.length).toBe(before);
});

it('neither the control plane’s assertion nor the record’s secrets are in a log or an event', async () => {
  const pair = await bench.store('quiet', MEDIATED);
  const { leaseId } = (await get('quiet')).json;
  bench.provider.misbehave({ status: 400, body: `{"error":"${CLIENT.secret}"}` });
  await update(leaseId);
  bench.provider.misbehave(undefined);
  await update((await get('quiet')).json.leaseId);
  const told = bench.log.text + JSON.stringify(await bench.entries('quiet'));
  const fresh = await bench.fetch('quiet');
  for (const secret of [CLIENT.secret, pair.accessToken, pair.refreshToken, fresh])
    expect(told).not.toContain(secret);
  expect(told).toContain('status 400');
});
