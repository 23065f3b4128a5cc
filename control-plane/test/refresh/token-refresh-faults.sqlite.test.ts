import { type Id, formatTime, newId } from '@svault/shared';
import type { TokenMetadata } from '@svault/shared/schemas';
import type { RefreshRequest } from '../../src/refresh/refresh-result.ts';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type FaultyWebhook, type HandMade, startFaultyWebhook } from '../support/faulty-webhook.ts';
import type { Answer } from '../support/management-service.ts';
import { refreshableRecord } from '../support/refreshable-record.ts';
import { type InProcess, startInProcess } from '../support/in-process.ts';

/* Refreshes at a webhook that is unreachable, slow or wrong: it gets no client secret, and no call is retried. */

const CLIENT_SECRET = 'canary-client-secret-of-this-account';
const TOKEN_URL = 'https://id.example.org/token';

const PROVIDER = {
  tokenUrl: TOKEN_URL,
  clientId: 'a client',
  authMethod: 'client_secret_basic',
  mediated: true,
} as const;

let backstage: InProcess;
let webhook: FaultyWebhook;
/** The calls of `/v1/refresh` and `/v1/refresh-notify`. */
let asked: Record<string, unknown>[];
let made = 0;
let serviceName: string;
/** Pauses before retries. */
let pauses: number[] = [];
let vaultId: Id<'vlt'>;

beforeAll(async () => {
  backstage = await startInProcess(
    { SV_EGRESS_ALLOW: '127.0.0.0/8' },
    { waitToRetry: async (ms) => void pauses.push(ms) },
  );
  ({ vaultId } = (await backstage.admin('GET', '/api/me')).json);
  webhook = await startFaultyWebhook(backstage.clock);
  webhook.capabilities.push('sv-refresh');
  await backstage.admin('POST', '/api/webhook/bind', { body: webhook.offer() });
  const secret = { authMethod: 'client_secret_basic', clientSecret: CLIENT_SECRET };
  const body = { name: 'a provider', tokenUrl: TOKEN_URL, clientId: 'a client', ...secret };
  await backstage.admin('POST', '/api/providers', { body });
});
afterAll(async () => {
  await webhook.shut();
  await backstage.close();
});
beforeEach(async () => {
  serviceName = `token-${++made}`;
  [asked, pauses] = [[], []];
  webhook.fault = undefined;
  await backstage.admin('POST', '/api/tokens', { body: { serviceName, tokenType: 'JWT' } });
  holdRecord(true);
});

/** Gives the webhook a record whose client the control plane authenticates, or the webhook. */
const holdRecord = (mediated: boolean, changes: Partial<TokenMetadata> = {}): void =>
  void webhook.tokens.set(
    serviceName,
    refreshableRecord(serviceName, {
      ...changes,
      provider: { ...PROVIDER, mediated },
    }),
  );

const LEASE = {
  leaseId: 'lease-1',
  leaseSeconds: 30,
  tokenUrl: TOKEN_URL,
  clientId: 'a client',
  authMethod: 'client_secret_basic',
};
const ok = (answer: object): HandMade => ({ status: 200, answer });
const no = (status: number, code: string, headers = {}): HandMade => ({
  status,
  headers,
  answer: { error: 'refused', code },
});
const DONE = ok({ outcome: 'refreshed', expiryTime: '2026-11-20T13:00:00.000Z' });

/** Answers the two phases, or the notice. */
function answering(get: HandMade, update: HandMade | (() => Promise<HandMade>) = DONE): void {
  webhook.refresh = async (path, content) => {
    asked.push(content);
    if (path === '/v1/refresh-notify' || content['phase'] === 'get') return get;
    return typeof update === 'function' ? update() : update;
  };
}
const phases = (): unknown[] => asked.map(({ phase }) => phase);
const refresh = (): Promise<Answer> => backstage.admin('POST', `/api/tokens/${serviceName}/refresh`);
const refreshFor = (request: RefreshRequest) =>
  backstage.context.tokenRefresh.refresh(vaultId, serviceName, request);
const gist = ({ status, json }: Answer): unknown => [status, json.code ?? json.outcome];
const events = async () =>
  (await backstage.log(`&serviceName=${serviceName}&eventType=TOKEN_REFRESHED`)).map(
    ({ outcome, detail }) => [outcome, detail?.['outcome']],
  );

test('a mediated refresh has two phases and sends the secret in the second', async () => {
  answering(ok(LEASE));
  expect((await refresh()).json).toEqual({ outcome: 'refreshed', expiryTime: '2026-11-20T13:00:00.000Z' });
  expect(asked).toEqual([
    { phase: 'get', serviceName },
    { phase: 'update', leaseId: 'lease-1', clientSecret: CLIENT_SECRET },
  ]);
  expect(await events()).toEqual([['success', 'refreshed']]);
});

describe('a lease that matches no provider of the account', () => {
  test.each([
    ['another token URL', { tokenUrl: 'https://evil.example.org/token' }],
    ['a longer one', { tokenUrl: `${TOKEN_URL}/` }],
    ['one in other letters', { tokenUrl: TOKEN_URL.toUpperCase() }],
    ['one that is no text', { tokenUrl: `${TOKEN_URL}\0` }],
    ['another client', { clientId: 'another client' }],
    ['a client that is no text', { clientId: 'a client\0' }],
    ['another kind of proof', { authMethod: 'private_key_jwt' }],
    ['no proof', { authMethod: 'none' }],
  ])('with %s gets no client authentication', async (_what, other) => {
    answering(ok({ ...LEASE, ...other }));
    expect(gist(await refresh())).toEqual([200, 'provider_not_configured']);
    expect(phases()).toEqual(['get']);
    expect(await events()).toEqual([['denied', 'provider_not_configured']]);
  });
});

describe('an answer of /v1/refresh that does not follow the protocol', () => {
  const { leaseId: _gone, ...noLease } = LEASE;
  test.each<[string, HandMade, HandMade]>([
    ['a lease without an id', ok(noLease), DONE],
    ['an id that is none', ok({ ...LEASE, leaseId: { $gt: '' } }), DONE],
    ['an unknown method', ok({ ...LEASE, authMethod: 'tls' }), DONE],
    ['half a surrogate pair', ok({ ...LEASE, tokenUrl: `${TOKEN_URL}\ud800` }), DONE],
    ['a page of a gateway', { status: 200, answer: ['hello'] }, DONE],
    ['a redirect', { status: 302, headers: { location: 'https://evil.example.org' }, answer: {} }, DONE],
  ])('with %s gets no client authentication', async (_what, get, update) => {
    answering(get, update);
    expect(gist(await refresh())).toEqual([502, 'WEBHOOK_REFUSED']);
    expect(phases()).toEqual(['get']);
    expect(await events()).toEqual([['error', 'webhook_unavailable']]);
  });

  test.each<[string, HandMade]>([
    ['an unknown outcome', ok({ outcome: 'maybe' })],
    ['nothing', ok({})],
    ['an error without a code', { status: 500, answer: {} }],
  ])('in the second phase (%s) is webhook_unavailable', async (_what, update) => {
    answering(ok(LEASE), update);
    expect(gist(await refresh())).toEqual([502, 'WEBHOOK_REFUSED']);
    expect(phases()).toEqual(['get', 'update']);
  });
});

describe('a webhook that is unreachable', () => {
  test.each([
    ['breaks off before it does anything', 'break'],
    ['does it, and its answer is lost', 'lose'],
    ['stands behind a gateway that fails', { status: 502, body: 'Bad Gateway' }],
  ] as const)('at the second phase: %s. Nothing is repeated', async (_what, fault) => {
    answering(ok(LEASE));
    let updates = 0;
    webhook.fault = (path) =>
      path === '/v1/refresh' && asked.length > 0 && ++updates > 0 ? fault : undefined;
    const answer = await refresh();
    expect(gist(answer)).toEqual([503, 'WEBHOOK_UNAVAILABLE']);
    expect([updates, pauses]).toEqual([1, []]);
    expect(await events()).toEqual([['error', 'webhook_unavailable']]);
    webhook.fault = undefined;
    expect(gist(await refresh())).toEqual([200, 'refreshed']);
  });

  test('from the first call writes no event', async () => {
    answering(ok(LEASE));
    webhook.fault = () => 'break';
    expect(gist(await refresh())).toEqual([503, 'WEBHOOK_UNAVAILABLE']);
    expect([asked, await events()]).toEqual([[], []]);
  });

  test('for a moment gets the notice again, with a new signature', async () => {
    holdRecord(false);
    answering(DONE);
    let broken = 0;
    webhook.fault = (path) => (path === '/v1/refresh-notify' && ++broken === 1 ? 'break' : undefined);
    expect(gist(await refresh())).toEqual([200, 'refreshed']);
    expect([broken, pauses]).toEqual([2, [1_000]]);
    expect(asked).toEqual([
      {
        serviceName,
        reason: 'manual',
        expiresAt: '2026-11-20T12:30:00.000Z',
        tokenUrl: TOKEN_URL,
        clientId: 'a client',
      },
    ]);
  });
});

describe('a refresh that the webhook refuses', () => {
  const RETRY = { 'retry-after': '7' };
  test.each<[HandMade, readonly unknown[], string]>([
    [no(409, 'REFRESH_BUSY', RETRY), [429, 'RATE_LIMITED'], 'denied busy'],
    [no(429, 'RATE_LIMITED', RETRY), [429, 'RATE_LIMITED'], 'rate_limited limited'],
    [no(404, 'NOT_FOUND'), [200, 'not_refreshable'], 'denied not_refreshable'],
    [no(422, 'NOT_REFRESHABLE'), [200, 'not_refreshable'], 'denied not_refreshable'],
    [no(422, 'REAUTH_NEEDED'), [200, 'reauth_needed'], 'error reauth_needed'],
    [no(502, 'PROVIDER_ERROR'), [200, 'failed'], 'error failed'],
    [no(504, 'PROVIDER_TIMEOUT'), [200, 'failed'], 'error failed'],
    [no(401, 'SIGNATURE_INVALID'), [502, 'WEBHOOK_REFUSED'], 'error webhook_unavailable'],
    [no(503, 'UNAVAILABLE'), [502, 'WEBHOOK_REFUSED'], 'error webhook_unavailable'],
  ])('%j', async (refusal, expected, event) => {
    for (const mediated of [true, false]) {
      holdRecord(mediated);
      answering(refusal);
      const answer = await refresh();
      expect(gist(answer)).toEqual(expected);
      if (answer.status === 429)
        expect([answer.headers.get('retry-after'), answer.json.retryAfter]).toEqual(['7', 7]);
      expect(asked).toHaveLength(mediated ? 1 : 2);
    }
    expect((await events()).map((parts) => parts.join(' '))).toEqual([event, event]);
  });

  test.each([
    ['0', 1],
    ['86400', 3_600],
    ['soon', 5],
    ['-1', 5],
    [undefined, 5],
  ])('a webhook with Retry-After: %s is called again after %i s', async (field, seconds) => {
    answering(no(409, 'REFRESH_BUSY', field === undefined ? {} : { 'retry-after': field }));
    expect((await refresh()).json.retryAfter).toBe(seconds);
  });

  test('an expired lease is a failure', async () => {
    answering(ok(LEASE), no(409, 'LEASE_EXPIRED'));
    expect(gist(await refresh())).toEqual([200, 'failed']);
    answering(ok(LEASE));
    expect(gist(await refresh())).toEqual([200, 'refreshed']);
  });

  test.each([
    ['invalid_grant', 'reauth_needed'],
    ['provider_error', 'failed'],
  ])('the outcome %s is reported as %s', async (outcome, told) => {
    answering(ok(LEASE), ok({ outcome }));
    expect(gist(await refresh())).toEqual([200, told]);
  });
});

describe('between the two phases', () => {
  const meanwhile = (act: () => Promise<unknown>): void => {
    webhook.refresh = async (_path, content) => {
      asked.push(content);
      await act();
      return content['phase'] === 'get' ? ok(LEASE) : DONE;
    };
  };
  const post = (path: string, body?: object) => backstage.admin('POST', path, body && { body });
  const recreate = async (): Promise<void> => {
    const body = { name: 'a provider', tokenUrl: TOKEN_URL, clientId: 'a client' };
    const secret = { authMethod: 'client_secret_basic', clientSecret: CLIENT_SECRET };
    await post('/api/providers', { ...body, ...secret });
  };
  const remove = async (): Promise<void> => {
    const { items } = (await backstage.admin('GET', '/api/providers')).json;
    await backstage.admin('DELETE', `/api/providers/${items[0].id}`);
  };

  test.each<[string, () => Promise<unknown>, () => Promise<unknown>, string]>([
    ['a lock', () => post('/api/vault/lock'), () => post('/api/vault/unlock'), 'failed'],
    [
      'an unbinding',
      () => backstage.admin('DELETE', '/api/webhook'),
      () => post('/api/webhook/bind', webhook.offer()),
      'failed',
    ],
    ['a deletion of the provider', remove, recreate, 'provider_not_configured'],
  ])('%s keeps the secret from being sent', async (_what, act, undo, outcome) => {
    meanwhile(act);
    const answer = await refresh();
    await undo();
    expect([phases(), gist(answer)]).toEqual([['get'], [200, outcome]]);
  });

  test('a lock that is gone again does not end the refresh', async () => {
    meanwhile(async () => {
      await post('/api/vault/lock');
      await post('/api/vault/unlock');
    });
    expect([gist(await refresh()), phases()]).toEqual([
      [200, 'refreshed'],
      ['get', 'update'],
    ]);
  });
});

describe('a webhook without the capability', () => {
  // spec: Enabled only when the webhook reports the sv-refresh capability.
  test.each([
    ['mediate', true, 'sv-refresh'],
    ['be given notice', false, 'refresh-notify'],
  ] as const)('%s is not asked to, until it says that it can', async (_what, mediated, capability) => {
    holdRecord(mediated);
    const all = webhook.capabilities;
    const withOnly = async (capabilities: string[]): Promise<void> => {
      webhook.capabilities = capabilities;
      await backstage.admin('GET', '/api/webhook');
    };
    await withOnly(all.filter((each) => each !== capability));
    answering(mediated ? ok(LEASE) : DONE);
    expect(gist(await refresh())).toEqual([502, 'WEBHOOK_REFUSED']);
    expect(asked).toEqual([]);
    webhook.capabilities = all;
    expect(gist(await refresh())).toEqual([200, 'refreshed']);
  });
});

test('concurrent requests for a token wait for one refresh: one call, one count, one event', async () => {
  const gate = Promise.withResolvers<HandMade>();
  answering(ok(LEASE), () => gate.promise);
  const asking = Array.from({ length: 40 }, () => refreshFor({ reason: 'expiring' }));
  gate.resolve(DONE);
  const results = await Promise.all(asking);
  expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1);
  expect([phases(), await events()]).toEqual([['get', 'update'], [['success', 'refreshed']]]);
});

test('an outage of a provider does not use up the hourly refreshes of a busy token', async () => {
  const onUse = async (times: number): Promise<unknown[]> => {
    asked = [];
    const outcomes = new Set<string>();
    for (let time = 0; time < times; time++) outcomes.add((await refreshFor({ reason: 'expired' })).outcome);
    return [...outcomes, phases().length];
  };
  holdRecord(true, { expiryTime: formatTime(backstage.clock.now()) });
  const down = ok({ outcome: 'provider_error' });
  answering(ok(LEASE), down);
  expect(await onUse(40)).toEqual(['failed', 4]);
  backstage.clock.advance(5_000);
  expect(await onUse(40)).toEqual(['failed', 2]);
  // An owner's refresh is tried, and ends the pause for everybody.
  expect(gist(await refresh())).toEqual([200, 'failed']);
  answering(ok(LEASE), DONE);
  expect(gist(await refresh())).toEqual([200, 'refreshed']);
  expect(await onUse(2)).toEqual(['refreshed', 4]);
});

test('a missing provider does not use up the hourly refreshes, and the owner can refresh once it is configured', async () => {
  answering(ok(LEASE));
  const [provider, expiryTime] = [{ ...PROVIDER, clientId: 'a later client' }, '2026-01-01T00:00:00.000Z'];
  webhook.tokens.set(serviceName, refreshableRecord(serviceName, { provider, expiryTime }));
  for (let time = 0; time < 40; time++)
    expect(await refreshFor({ reason: 'expired' })).toEqual({
      outcome: 'provider_not_configured',
    });
  holdRecord(true);
  expect(gist(await refresh())).toEqual([200, 'refreshed']);
});

test('a webhook whose clock is ahead is believed that a token has expired', async () => {
  answering(ok(LEASE));
  // By the webhook's clock the token has 30 s left.
  holdRecord(true, { expiryTime: formatTime(backstage.clock.now() + 59_000) });
  await refreshFor({ reason: 'expired' });
  expect(phases()).toEqual(['get', 'update']);
});

test('an owner who requests a token that is being refreshed has an event', async () => {
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<HandMade>()];
  answering(ok(LEASE), () => (begun.resolve(), gate.promise));
  const scheduled = refreshFor({ reason: 'expiring' });
  await begun.promise;
  const userId = newId('usr');
  const owner = refreshFor({ reason: 'manual', userId });
  gate.resolve(DONE);
  expect(await owner).toEqual(await scheduled);
  expect(phases()).toEqual(['get', 'update']);
  const log = await backstage.log(`&serviceName=${serviceName}&eventType=TOKEN_REFRESHED`);
  expect(log.map((event) => [event.userId, event.outcome, event.detail?.['reason']])).toEqual([
    [userId, 'success', 'manual'],
    [undefined, 'success', 'expiring'],
  ]);
});

test('a token that another process has refreshed is refreshed again only for its owner', async () => {
  answering(ok(LEASE));
  const fresh = refreshableRecord(serviceName, { expiryTime: '2026-11-20T13:30:00.000Z' });
  webhook.tokens.set(serviceName, { ...fresh, provider: { ...fresh.provider, mediated: true } });
  for (const reason of ['expired', 'expiring'] as const)
    expect(await refreshFor({ reason })).toEqual({
      outcome: 'refreshed',
      expiryTime: '2026-11-20T13:30:00.000Z',
    });
  expect(asked).toEqual([]);
  expect(gist(await refresh())).toEqual([200, 'refreshed']);
  expect(phases()).toEqual(['get', 'update']);
});

test('the client secret is in no event and no row', async () => {
  const seen = await backstage.place.state.bytes();
  expect(tracesOf(CLIENT_SECRET, seen)).toEqual([]);
});
