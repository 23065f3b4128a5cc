/** `POST /v1/refresh`: leases, and refreshes under them (PROTOCOL.md section 7, REF-06 to REF-16). */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '@svault/server-kit/logger';
import { formatTime } from '@svault/shared';
import { refreshLeaseSchema } from '@svault/shared/schemas';
import { type TokenEndpoint, startTokenEndpoint } from '@svault/test-kit/token-endpoint';
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
  it('refresh a token without one ever reaching the service', async () => {
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

  it('work for a record that the webhook could refresh itself, with the secret that is sealed', async () => {
    await bench.store('own');
    const { json } = await get('own');
    expect((await update(json.leaseId, {})).json.outcome).toBe('refreshed');
  });

  it('authenticate by an assertion of the service where the provider wants one', async () => {
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

  it.each([
    ['client_secret_post', { id: 'by post', method: 'client_secret_post', secret: 's+&=ü' }],
    ['none', { id: 'public', method: 'none' }],
  ] as const)('authenticate by %s', async (authMethod, client) => {
    bench.provider.register(client);
    const provider = { clientId: client.id, authMethod, mediated: true, clientSecret: undefined };
    await bench.store(authMethod, { provider, body: bench.provider.grant(client.id) });
    const { json } = await get(authMethod);
    const clientSecret = 'secret' in client ? client.secret : undefined;
    expect((await update(json.leaseId, { clientSecret })).json.outcome).toBe('refreshed');
  });

  it('tell a refused grant from a provider that failed', async () => {
    const leaseId = await leased('refused');
    bench.provider.misbehave({ status: 400, body: '{"error":"invalid_grant"}' });
    expect((await update(leaseId)).json).toEqual({ outcome: 'invalid_grant' });
    expect(await bench.fetch('refused')).toBe('REAUTH_NEEDED');
    const other = await leased('failed');
    expect((await update(other, { clientSecret: 'wrong' })).json).toEqual({ outcome: 'invalid_grant' });
    const third = await leased('really failed');
    bench.provider.misbehave(undefined);
    expect((await update(third, { clientSecret: 'wrong' })).json).toEqual({ outcome: 'provider_error' });
    expect(await bench.fetch('really failed')).toBe('REFRESH_NEEDED');
  });

  it('refuse what cannot be refreshed, and what is not there', async () => {
    await bench.webhook.store('plain', { tokenType: 'PlainText', value: 'v' });
    const plain = await get('plain');
    expect([plain.status, plain.json.code]).toEqual([422, 'NOT_REFRESHABLE']);
    expect((await get('nowhere')).json.code).toBe('NOT_FOUND');
  });

  it.each([
    ['a foreign phase', { phase: 'put', serviceName: 'x' }],
    ['a get without a name', { phase: 'get' }],
    ['an update without a lease', { phase: 'update' }],
    ['a lease that is no id', { phase: 'update', leaseId: 'a b' }],
    ['a secret of more than 64 KiB', { phase: 'update', leaseId: 'x', clientSecret: 'x'.repeat(65_537) }],
    ['a secret that is no text', { phase: 'update', leaseId: 'x', clientAssertion: {} }],
  ])('refuse %s', async (_what, body) => {
    const { status, json } = await bench.refresh(body);
    expect([status, json.code]).toEqual([400, 'INVALID_REQUEST']);
  });
});

describe('a lease', () => {
  it('is one at a time for a token, until its time is over', async () => {
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

  it('is one of many that ask at once', async () => {
    await bench.store('raced', MEDIATED);
    const asked = await Promise.all(Array.from({ length: 20 }, () => get('raced')));
    expect(asked.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('with an unknown id is rejected', async () => {
    expect((await update('made-up')).json.code).toBe('LEASE_EXPIRED');
  });

  it('repeats the recorded outcome for 5 minutes, without a call', async () => {
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

  it('lasts while its provider call runs, whatever the clock says', async () => {
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

  it('is kept by an update that lacks the client authentication', async () => {
    const leaseId = await leased('incomplete');
    const { status, json } = await update(leaseId, {});
    expect([status, json.error]).toEqual([400, 'clientSecret is missing']);
    expect((await update(leaseId)).json.outcome).toBe('refreshed');
  });

  it('makes a refresh of the webhook wait, which then makes no call', async () => {
    const { provider } = bench;
    await bench.store('waited for');
    const { leaseId } = (await get('waited for')).json;
    const before = provider.calls.length;
    const fetched = Promise.all(Array.from({ length: 20 }, () => bench.fetch('waited for')));
    // They wait once the webhook has used their tickets up; a lease is refused to all others from then on.
    expect((await get('waited for')).json.code).toBe('REFRESH_BUSY');
    expect((await update(leaseId, {})).json.outcome).toBe('refreshed');
    const given = await fetched;
    expect(new Set(given).size).toBe(1);
    expect(provider.gave(given[0] ?? '')).toBe(true);
    expect(provider.calls).toHaveLength(before + 1);
  });

  it('that is never used delays the own refresh until its time is over, and no longer', async () => {
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

  it('is refused while the webhook refreshes by itself', async () => {
    const { provider } = bench;
    await bench.store('busy itself');
    const before = provider.calls.length;
    const gate = provider.hold();
    const fetched = bench.fetch('busy itself');
    await provider.arrived(before + 1);
    const busy = await get('busy itself');
    expect([busy.status, busy.json.code, busy.headers.get('retry-after')]).toEqual([
      409,
      'REFRESH_BUSY',
      '5',
    ]);
    gate.release();
    await fetched;
  });

  it('is dropped by a restart', async () => {
    const leaseId = await leased('dropped');
    await bench.webhook.restart();
    expect((await update(leaseId)).json.code).toBe('LEASE_EXPIRED');
    expect((await get('dropped')).status).toBe(200);
  });
});

it('a lease that is used after the stop began makes no call: the answer could not be stored', async () => {
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

describe('what the service gives', () => {
  let elsewhere: TokenEndpoint;
  beforeAll(async () => {
    elsewhere = await startTokenEndpoint();
  });
  afterAll(() => elsewhere.close());

  it('goes to no other provider than the one of the lease, though another record was stored meanwhile', async () => {
    const leaseId = await leased('swapped');
    const before = bench.provider.calls.length;
    await bench.store('swapped', { provider: { ...MEDIATED.provider, tokenUrl: elsewhere.url } });
    expect((await update(leaseId)).json.code).toBe('LEASE_EXPIRED');
    expect([elsewhere.calls, bench.provider.calls.length]).toEqual([[], before]);
  });

  it('and what the record holds stand in no log and in no entry of it', async () => {
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
});
