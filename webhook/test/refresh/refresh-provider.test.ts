/** Providers that misbehave, and addresses that are none (PROTOCOL.md sections 6 and 7). */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Secret } from '@svault/shared';
import { createEgress } from '@svault/shared/egress';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { startTokenEndpoint } from '@svault/test-kit/token-endpoint';
import { callProvider } from '../../src/refresh/provider-call.ts';
import { CLIENT, type RefreshBench, refreshBench } from '../support/refresh-bench.ts';

let bench: RefreshBench;
beforeAll(async () => {
  bench = await refreshBench();
});
afterAll(() => bench.close());
beforeEach(() => bench.provider.misbehave(undefined));

describe('a provider that returns no token pair', () => {
  it.each([
    ['429', { status: 429, headers: { 'retry-after': '1' } }],
    ['500', { status: 500, body: 'Internal Server Error' }],
    ['a page', { status: 200, headers: { 'content-type': 'text/html' }, body: '<html></html>' }],
    ['10 MB', { status: 200, body: ' '.repeat(10_000_000) }],
    ['a head of 1 MB', { status: 200, headers: { 'x-large': 'x'.repeat(1_000_000) } }],
  ])('but %s', async (what, answer) => {
    const { accessToken } = await bench.store(what);
    bench.provider.misbehave(answer);
    const { status, json: refused } = await bench.webhook.credential(what);
    expect([status, refused.code]).toEqual([502, 'PROVIDER_ERROR']);
    const kept = await bench.metadata(what);
    expect(kept).not.toHaveProperty('reauthNeeded');
    bench.provider.misbehave(undefined);
    // The mark is no reason not to try: whether the token is spent tells the next answer.
    const fetched = await bench.fetch(what);
    expect([bench.provider.gave(fetched), fetched === accessToken]).toEqual([true, false]);
    expect((await bench.metadata(what)).version).toBe(kept.version + 1);
  });

  it.each(['break_before', 'break_after', 'endless'] as const)('but does this: %s', async (how) => {
    await bench.store(how);
    bench.provider.misbehave(how);
    expect(await bench.fetch(how)).toBe('PROVIDER_ERROR');
    bench.provider.misbehave(undefined);
    const next = await bench.fetch(how);
    if (how === 'break_before') expect(bench.provider.gave(next)).toBe(true);
    else expect(next).toBe('REAUTH_NEEDED');
  });

  it('in 8 s times out', async () => {
    const egress = createEgress({ allow: ['127.0.0.1'] });
    bench.provider.misbehave('never');
    const { url: tokenUrl } = bench.provider;
    const call = {
      provider: { tokenUrl, clientId: 'public', authMethod: 'none', mediated: false },
      refreshToken: new Secret('rt'),
      authentication: {},
    } as const;
    expect(await callProvider(egress, call, { timeoutMs: 50 })).toMatchObject({ code: 'PROVIDER_TIMEOUT' });
    await egress.close();
  });

  it('but a redirect is not followed', async () => {
    const elsewhere = await startTokenEndpoint();
    try {
      for (const status of [301, 302, 303, 307, 308]) {
        await bench.store(`redirect ${status}`);
        bench.provider.misbehave({ status, headers: { location: elsewhere.url } });
        expect(await bench.fetch(`redirect ${status}`)).toBe('PROVIDER_ERROR');
      }
      expect(elsewhere.calls).toEqual([]);
    } finally {
      await elsewhere.close();
    }
  });

  it('is called less and less often, so that an outage does not use up a token’s calls', async () => {
    const { provider, webhook } = bench;
    await bench.store('outage');
    provider.misbehave({ status: 503 });
    const before = provider.calls.length;
    for (let second = 0; second < 60; second += 1) {
      expect(await bench.fetch('outage')).toBe('PROVIDER_ERROR');
      webhook.clock.advance(1_000);
    }
    expect(provider.calls.length - before).toBe(5);
    provider.misbehave(undefined);
    webhook.clock.advance(60_000);
    expect(provider.gave(await bench.fetch('outage'))).toBe(true);
  });
});

describe('an address', () => {
  let strict: RefreshBench;
  beforeAll(async () => {
    strict = await refreshBench({ egressAllow: '192.0.2.1/32' });
  });
  afterAll(() => strict.close());

  it.each([
    'http://127.0.0.1:PORT/token',
    'https://127.0.0.1:PORT/token',
    'http://[::ffff:127.0.0.1]:PORT/token',
    'http://0x7f000001:PORT/token',
    'https://169.254.169.254/latest/meta-data/',
    'http://1.1.1.1/token',
  ])('that is denied gets no connection: %s', async (address) => {
    const tokenUrl = address.replace('PORT', new URL(strict.provider.url).port);
    const name = `at ${address.replaceAll('/', '_')}`;
    await strict.store(name, { provider: { tokenUrl } });
    const logged = strict.log.text.length;
    const { status, json: refused } = await strict.webhook.credential(name);
    expect([status, refused.code]).toEqual([502, 'PROVIDER_ERROR']);
    expect(strict.provider.calls).toEqual([]);
    expect(strict.log.text.slice(logged)).toMatch(/egress refused|"dns"/);
    expect((await strict.entries(name))[1]).toMatchObject({
      eventType: 'CREDENTIAL_REFRESHED',
      outcome: 'error',
      detail: { cause: 'use', code: 'PROVIDER_ERROR' },
    });
  });
});

describe('the request', () => {
  const ODD = 'line\r\nfeed: x\0&grant_type=password#:%\u{1f600}';

  it.each(['client_secret_basic', 'client_secret_post'] as const)(
    'has unusual client ids and secrets by %s unchanged, and nowhere else',
    async (method) => {
      const client = { id: `${method} ${ODD}`, method, secret: `secret ${ODD}` };
      bench.provider.register(client);
      await bench.store(`odd ${method}`, {
        provider: { clientId: client.id, clientSecret: client.secret, authMethod: method, scope: ODD },
        body: bench.provider.grant(client.id),
      });
      expect(bench.provider.gave(await bench.fetch(`odd ${method}`))).toBe(true);
      const call = bench.provider.calls.at(-1);
      expect(call?.form.get('scope')).toBe(ODD);
      expect(call?.headers).not.toHaveProperty('feed');
    },
  );

  it('is a form with the stored token, without cookies, compression or data of the caller', async () => {
    const { refreshToken } = await bench.store('plain form');
    await bench.fetch('plain form');
    const { method, headers, form } = bench.provider.calls.at(-1)!;
    expect([method, headers['content-type']]).toEqual(['POST', 'application/x-www-form-urlencoded']);
    expect([...form]).toEqual([
      ['grant_type', 'refresh_token'],
      ['refresh_token', refreshToken],
    ]);
    expect(Object.keys(headers).sort()).toEqual([
      'accept',
      'accept-encoding',
      'authorization',
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
    ]);
  });

  it('and the response leave no trace in the log, in any encoding', async () => {
    const echoed = 'what the provider wrote of its own';
    const pair = await bench.store('traceless');
    bench.provider.misbehave({
      status: 400,
      body: JSON.stringify({ error: pair.refreshToken, more: echoed }),
    });
    await bench.fetch('traceless');
    bench.provider.misbehave({ status: 200, body: `${pair.refreshToken} ${echoed}` });
    await bench.notify('traceless');
    bench.provider.misbehave(undefined);
    bench.webhook.clock.advance(5_000);
    const fresh = await bench.fetch('traceless');
    expect(bench.provider.gave(fresh)).toBe(true);
    const told = Buffer.from(bench.log.text + JSON.stringify(await bench.entries('traceless')));
    expect(told.includes('could not be refreshed')).toBe(true);
    for (const secret of [CLIENT.secret, pair.accessToken, pair.refreshToken, fresh, echoed])
      expect(tracesOf(secret, told)).toEqual([]);
  });
});
