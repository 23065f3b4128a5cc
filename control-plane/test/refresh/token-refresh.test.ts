import { type KeyPairKeyObjectResult, generateKeyPairSync } from 'node:crypto';
import { formatTime } from '@svault/shared';
import { type TestPair, startPair } from '@svault/test-kit/pair';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { type TokenEndpoint, startTokenEndpoint } from '@svault/test-kit/token-endpoint';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Answer, type Call, clientOf } from '../support/management-service.ts';
import { agentOn, storeOn } from '../support/pair-agents.ts';
import type { LoggedEvent } from '../support/service-steps.ts';
import { storedState } from '../support/stored-state.ts';

/*
 * Refreshes through the reference webhook, at a provider that rotates refresh tokens and accepts one authentication method
 * for each client. Faults of a webhook: token-refresh-faults.sqlite.test.ts. The scheduler: refresh-scheduler.test.ts.
 */

/** More than an hour, so that the scheduler refreshes nothing. */
const TEN_HOURS_MS = 36_000_000;
const CLIENT_SECRET = 'canary/of a client: 100% secret';
const { privateKey, publicKey }: KeyPairKeyObjectResult = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

let pair: TestPair;
let endpoint: TokenEndpoint;
let admin: Call;
/** Every token that the provider issued. */
const canaries = new Set<string>();

beforeAll(async () => {
  pair = await startPair({ logLevel: 'trace' });
  endpoint = await startTokenEndpoint();
  endpoint.expiresIn = TEN_HOURS_MS / 1_000;
  admin = clientOf(pair.controlPlaneUrl(), { authorization: `Bearer ${pair.adminKey}` });
  for (const method of ['client_secret_basic', 'client_secret_post'] as const) {
    endpoint.register({ id: method, method, secret: CLIENT_SECRET });
    await provide({ clientId: method, authMethod: method, clientSecret: CLIENT_SECRET });
  }
  endpoint.register({ id: 'private_key_jwt', method: 'private_key_jwt', publicKey, algorithm: 'ES256' });
  const byKey = { authMethod: 'private_key_jwt', privateKey: PEM, algorithm: 'ES256', keyId: 'k-1' };
  await provide({ clientId: 'private_key_jwt', ...byKey });
});
afterAll(async () => {
  await endpoint.close();
  await pair.close();
});
beforeEach(() => {
  endpoint.misbehave(undefined);
  // The provider checks an assertion by the system's time.
  pair.clock.jump(Math.max(0, Date.now() - pair.clock.now()));
});

async function provide(client: object): Promise<string> {
  const body = { name: 'a provider', tokenUrl: endpoint.url, ...client };
  const { status, json } = await admin('POST', '/api/providers', { body });
  expect([status, json]).toEqual([201, json]);
  return json.id as string;
}

/** Stores a fresh pair of tokens. */
async function store(
  serviceName: string,
  provider: { clientId: string; tokenUrl?: string } & object,
): Promise<void> {
  const { accessToken, refreshToken } = endpoint.grant(provider.clientId);
  canaries.add(accessToken).add(refreshToken);
  await storeOn(pair, serviceName, {
    tokenType: 'JWT',
    accessToken,
    refreshToken,
    expiryTime: formatTime(pair.clock.now() + TEN_HOURS_MS),
    provider: { tokenUrl: endpoint.url, ...provider },
  });
}
const MEDIATED = { clientId: 'client_secret_basic', mediated: true };

const refresh = (serviceName: string): Promise<Answer> => admin('POST', `/api/tokens/${serviceName}/refresh`);
const record = async (serviceName: string) =>
  (await admin('GET', `/api/tokens/${serviceName}`)).json.webhook as Record<string, unknown>;
const events = async (serviceName: string): Promise<LoggedEvent[]> =>
  (await admin('GET', `/api/audit?eventType=TOKEN_REFRESHED&serviceName=${serviceName}`)).json.items;
const inTenHours = (): string => formatTime(pair.clock.now() + TEN_HOURS_MS);

/** The token that an agent gets, not recorded. */
async function accessToken(serviceName: string): Promise<string> {
  const agent = await agentOn(pair, serviceName);
  const { token } = (await agent.fetch(serviceName)).json as { token: { accessToken: string } };
  canaries.add(token.accessToken);
  return token.accessToken;
}

describe.each([
  ['mediated, client_secret_basic', { clientId: 'client_secret_basic', mediated: true }],
  [
    'mediated, client_secret_post',
    { clientId: 'client_secret_post', mediated: true, authMethod: 'client_secret_post' },
  ],
  [
    'mediated, private_key_jwt',
    { clientId: 'private_key_jwt', mediated: true, authMethod: 'private_key_jwt' },
  ],
  ['upon a notice', { clientId: 'client_secret_basic', clientSecret: CLIENT_SECRET }],
])('%s', (what, provider) => {
  const serviceName = what.replaceAll(/[^a-z]+/g, '-');
  beforeAll(() => store(serviceName, provider));

  test('a token is refreshed several times, and every agent gets the newest', async () => {
    for (let version = 2; version <= 3; version++) {
      const before = endpoint.calls.length;
      const { status, json } = await refresh(serviceName);
      expect([status, json]).toEqual([200, { outcome: 'refreshed', expiryTime: inTenHours() }]);
      expect(endpoint.calls.slice(before)).toMatchObject([{ outcome: 'refreshed' }]);
      expect(await record(serviceName)).toMatchObject({ version, expiryTime: inTenHours() });
      expect(endpoint.gave(await accessToken(serviceName))).toBe(true);
    }
  });

  test('each refresh is an event with the user who requested it', async () => {
    const { id: userId } = (await admin('GET', '/api/me')).json;
    const detail = { outcome: 'refreshed', reason: 'manual' };
    const event = { outcome: 'success', serviceName, userId, detail };
    expect(await events(serviceName)).toMatchObject([event, event]);
  });
});

test('a token without a refresh token or a record is not_refreshable', async () => {
  await storeOn(pair, 'plain', { tokenType: 'PlainText', value: 'a value' });
  await pair.admin.call('POST', '/api/tokens', { serviceName: 'empty', tokenType: 'JWT' });
  for (const name of ['plain', 'empty'])
    expect([name, (await refresh(name)).json]).toEqual([name, { outcome: 'not_refreshable' }]);
  const unknown = await refresh('unknown');
  expect([unknown.status, unknown.json.code]).toEqual([404, 'NOT_FOUND']);
  expect(await events('unknown')).toEqual([]);
});

test('a token stays while its provider fails, and is refreshed later', async () => {
  await store('failing', MEDIATED);
  for (const [how, providerReason] of [
    [{ status: 500 }, 'status 500'],
    ['break_before', 'connect'],
    [{ status: 200, body: 'garbage' }, 'no JSON object'],
  ] as const) {
    endpoint.misbehave(how);
    expect([how, (await refresh('failing')).json]).toEqual([how, { outcome: 'failed', providerReason }]);
    pair.clock.advance(60_000);
  }
  endpoint.misbehave(undefined);
  expect((await refresh('failing')).json.outcome).toBe('refreshed');
  const outcomes = (await events('failing')).map(({ outcome }) => outcome);
  expect(outcomes).toEqual(['success', 'error', 'error', 'error']);
});

test('what the provider says of a rejection is in the response and in the event, without the secret that it repeats', async () => {
  await store('rejected', MEDIATED);
  const said = ['This client is disabled.', `The secret ${CLIENT_SECRET} is wrong.`];
  const reasons = ['status 401, invalid_client: This client is disabled.', 'status 401, invalid_client'];
  for (const [at, text] of said.entries()) {
    const body = JSON.stringify({ error: 'invalid_client', error_description: text });
    endpoint.misbehave({ status: 401, body });
    const providerReason = reasons[at];
    expect((await refresh('rejected')).json).toEqual({ outcome: 'failed', providerReason });
    const [last] = await events('rejected');
    expect(last).toMatchObject({ outcome: 'error', detail: { outcome: 'failed', providerReason } });
  }
});

test('a key rotation during a refresh loses nothing', async () => {
  await store('in-flight', MEDIATED);
  const before = endpoint.calls.length;
  const gate = endpoint.hold();
  const asking = refresh('in-flight');
  await endpoint.arrived(before + 1);
  expect((await admin('POST', '/api/webhook/rotate-secret')).status).toBe(200);
  gate.release();
  expect((await asking).json.outcome).toBe('refreshed');
  expect((await refresh('in-flight')).json.outcome).toBe('refreshed');
});

// spec: The service sends provider hints (token URL, client id) and never the credential or client secret.
test('no token reaches the control plane, and the client secret is in no log and no database', async () => {
  for (const { form } of endpoint.calls) canaries.add(form.get('refresh_token') ?? 'none');
  expect(canaries.size).toBeGreaterThan(20);
  const service = Buffer.concat([
    pair.recorded(),
    Buffer.from(pair.logOf('control-plane')),
    await storedState(pair.databaseUrl).bytes(),
  ]);
  for (const token of canaries) expect(tracesOf(token, service)).toEqual([]);
  const kept = Buffer.concat([
    Buffer.from(pair.logOf('control-plane') + pair.logOf('webhook')),
    await storedState(pair.databaseUrl).bytes(),
  ]);
  for (const secret of [CLIENT_SECRET, PEM.split('\n')[1] ?? '']) expect(tracesOf(secret, kept)).toEqual([]);
  // The secret was sent to the webhook, so the search can find it.
  expect(tracesOf(CLIENT_SECRET, pair.recorded())).not.toEqual([]);
});

describe('a refresh without a usable webhook', () => {
  test('is answered 423 while the vault is locked, 503 while the webhook is offline, and 502 after an unbinding', async () => {
    await store('locked', MEDIATED);
    await admin('POST', '/api/vault/lock');
    expect((await refresh('locked')).json.code).toBe('VAULT_LOCKED');
    await admin('POST', '/api/vault/unlock');
    await pair.stop('webhook');
    const away = await refresh('locked');
    expect([away.status, away.json.code]).toEqual([503, 'WEBHOOK_UNAVAILABLE']);
    expect(away.headers.get('retry-after')).toMatch(/^\d+$/);
    await pair.start('webhook');
    await vi.waitFor(async () => expect((await refresh('locked')).json.outcome).toBe('refreshed'), {
      timeout: 20_000,
    });
    expect(await events('locked')).toHaveLength(1);
    await admin('DELETE', '/api/webhook');
    const unbound = await refresh('locked');
    expect([unbound.status, unbound.json.code]).toEqual([502, 'WEBHOOK_NOT_CONFIGURED']);
  });
});
