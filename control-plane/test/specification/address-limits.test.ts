import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Answer } from '../support/management-service.ts';
import { type Fixture, startFixture } from './fixture.ts';
import { pipeline } from './pipeline.ts';
import { spec } from '@svault/test-kit/spec';
import { type Rate, expectWindow, expectWindowAt, perHour, perMinute } from './windows.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture({ env: { SV_TRUSTED_PROXIES: '127.0.0.0/8' } });
});
afterAll(() => fixture.close());
beforeEach(() => fixture.clear());

/** Addresses of no other test, so that a counter that all processes share has counted nothing of them. */
const hex = (): string => randomInt(0x1_0000).toString(16);
const someNetwork = (): string => `2001:db8:${hex()}:${hex()}`;
const someAddress = (): string => `198.18.${randomInt(256)}.${randomInt(1, 255)}`;

/** A request counts whatever its body is, so that guesses are limited. IPv6 counts by /64, which belongs to one subscriber. */
const perAddress =
  (path: string, rate: Rate): (() => Promise<void>) =>
  async () => {
    const network = someNetwork();
    let host = 0;
    const guess = (address = `${network}::${(host += 1)}`) => ({
      method: 'POST' as const,
      path,
      headers: { 'x-forwarded-for': address },
      body: { guess: 1 },
    });
    const post = (address?: string): Promise<Answer> => fixture.anyone('POST', path, guess(address));
    const passes = ({ status }: Pick<Answer, 'status'>): void =>
      expect([400, 401, 403, 422]).toContain(status);
    const fill = async (count: number): Promise<void> => {
      const guesses = Array.from({ length: count }, () => guess());
      for (const status of await pipeline(fixture.pair.controlPlaneUrl(), guesses)) passes({ status });
    };
    await expectWindowAt(fixture.pair.clock, rate, { call: () => post(), passes, fill });
    await fill(rate.limit - 1);
    expect((await post()).status).toBe(429);
    passes(await post(`${someNetwork()}::1`));
    passes(await post(someAddress()));
  };

/** A page, whose refusal is one too; opening it is what counts, whatever it answers. */
const authorizePage = async (): Promise<void> => {
  const rate = perHour(30);
  const open = (address: string): Promise<Answer> =>
    fixture.anyone('GET', '/api/mcp-oauth/authorize?client_id=x', {
      headers: { 'x-forwarded-for': address },
    });
  const hint = async (address: string): Promise<number | undefined> => {
    const { status, headers, text } = await open(address);
    expect(text).toContain('<h1>');
    if (status !== 429) expect(status).toBe(400);
    return status === 429 ? Number(headers.get('retry-after')) : undefined;
  };
  const address = someAddress();
  await expectWindow(fixture.pair.clock, rate, () => hint(address));
  const filled = someNetwork();
  for (let n = 0; n < rate.limit; n++) await open(`${filled}::${n + 1}`);
  expect(await hint(`${filled}:ffff:ffff:ffff:ffff`)).toBe(rate.windowMs / 1_000);
  expect(await hint(someAddress())).toBeUndefined();
  // Who has opened the page can decide: its form has as many for itself, and is not to be had without the page's origin.
  const post = (headers: Readonly<Record<string, string>>): Promise<Answer> =>
    fixture.anyone('POST', '/api/mcp-oauth/authorize', {
      rawBody: 'client_id=x',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'x-forwarded-for': `${filled}::1`,
        ...headers,
      },
    });
  const { json } = await fixture.anyone('GET', '/.well-known/oauth-authorization-server');
  const origin = json.issuer as string;
  for (let n = 0; n < rate.limit; n++) expect((await post({ origin })).status).toBe(400);
  const { status, headers } = await post({ origin });
  expect([status, Number(headers.get('retry-after'))]).toEqual([429, rate.windowMs / 1_000]);
  expect((await post({})).status).toBe(403);
};

const TOKEN = '/api/mcp-oauth/token';

/** Requests are counted by client and address; those of unknown clients are counted together. */
const perClient = async (): Promise<void> => {
  const rate = perHour(60);
  const ask = (address: string, clientId: string): Promise<Answer> =>
    fixture.anyone('POST', TOKEN, {
      rawBody: new URLSearchParams({ client_id: clientId, grant_type: 'x' }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': address },
    });
  const register = async (): Promise<string> => {
    const body = { redirect_uris: ['http://127.0.0.1/callback'] };
    const headers = { 'x-forwarded-for': someAddress() };
    return (await fixture.anyone('POST', '/api/mcp-oauth/register', { body, headers })).json.client_id;
  };
  const refused = ({ status, json }: Answer): void =>
    expect([status, json.error]).toEqual([400, 'unsupported_grant_type']);
  const [one, other, address] = [await register(), await register(), someAddress()];
  await expectWindowAt(fixture.pair.clock, rate, { call: () => ask(address, one), passes: refused });

  for (let n = 1; n < rate.limit; n++) refused(await ask(address, one));
  expect((await ask(address, one)).status).toBe(429);
  refused(await ask(address, other));
  refused(await ask(someAddress(), one));

  // A made-up client for each request gains nothing.
  const madeUp = someAddress();
  for (let n = 0; n < rate.limit; n++)
    expect((await ask(madeUp, n % 2 ? `ocl_${n}` : `https://${n}.example/client`)).status).toBe(400);
  expect((await ask(madeUp, 'https://another.example/client')).status).toBe(429);
  refused(await ask(madeUp, one));
};

test(
  'POST /api/mcp-oauth/register is limited to 30 an hour for each address',
  spec('OAuth register | 30 per hour per IP'),
  perAddress('/api/mcp-oauth/register', perHour(30)),
);

test(
  'GET /api/mcp-oauth/authorize is limited to 30 an hour for each address, and its form apart from it',
  spec('OAuth authorize | 30 per hour per IP'),
  authorizePage,
);

test(
  'POST /api/mcp-oauth/token is limited to 60 an hour for each client at each address',
  spec('OAuth token | 60 per hour per (IP, client_id)'),
  perClient,
);

test(
  'POST /api/mcp-oauth/revoke is limited to 60 an hour for each address',
  spec('OAuth revoke | 60 per hour per IP'),
  perAddress('/api/mcp-oauth/revoke', perHour(60)),
);

test(
  'POST /api/mcp-oauth/introspect is limited to 600 a minute for each address',
  spec('OAuth introspect | 600 per minute per IP'),
  perAddress('/api/mcp-oauth/introspect', perMinute(600)),
);

test(
  'POST /api/cli/login/begin is limited to 20 an hour for each address',
  spec('CLI login (begin) | 20 per hour per IP'),
  perAddress('/api/cli/login/begin', perHour(20)),
);

test(
  'POST /api/cli/login/exchange is limited to 30 an hour for each address',
  spec('CLI login (exchange) | 30 per hour per IP'),
  perAddress('/api/cli/login/exchange', perHour(30)),
);

test(
  'POST /api/cli/login/refresh is limited to 600 an hour for each address',
  spec('CLI login (refresh) | 600 per hour per IP'),
  perAddress('/api/cli/login/refresh', perHour(600)),
);
