import { randomInt } from 'node:crypto';
import { expect } from 'vitest';
import type { Answer } from '../management-service.ts';
import type { LIMIT_ROWS } from './limit-rows.ts';
import { rateOf, type Row } from './row.ts';
import { pipeline } from './pipeline.ts';
import type { Play } from './stage.ts';
import { expectWindow, expectWindowAt } from './windows.ts';

/** The stage lets requests say where they come from, as a trusted reverse proxy does. */
export const BEHIND_A_PROXY = { SV_TRUSTED_PROXIES: '127.0.0.0/8' };

/** Addresses of no other test, so that a counter that all processes share has counted nothing of them. */
const hex = (): string => randomInt(0x1_0000).toString(16);
const someNetwork = (): string => `2001:db8:${hex()}:${hex()}`;
const someAddress = (): string => `198.18.${randomInt(256)}.${randomInt(1, 255)}`;

/** Whatever a body is, it is counted: a guess costs the guesser. */
const perAddress =
  (path: string): Play<Row> =>
  async (stage, row) => {
    const rate = rateOf(row);
    const post = (address: string, body: object): Promise<Answer> =>
      stage.anyone('POST', path, { body, headers: { 'x-forwarded-for': address } });
    const notLimited = ({ status }: Pick<Answer, 'status'>): void =>
      expect([400, 401, 403, 422]).toContain(status);
    /** One guess after the other. */
    const fill = async (count: number, addressOf: (n: number) => string): Promise<void> => {
      const guesses = Array.from({ length: count }, (_, n) => ({
        method: 'POST' as const,
        path,
        headers: { 'x-forwarded-for': addressOf(n) },
        body: { guess: n },
      }));
      for (const status of await pipeline(stage.pair.controlPlaneUrl(), guesses)) notLimited({ status });
    };
    const address = someAddress();
    await expectWindowAt(stage.pair.clock, rate, {
      call: () => post(address, { guess: 1 }),
      passes: notLimited,
      fill: (count) => fill(count, () => address),
    });

    const filled = someAddress();
    await fill(rate.limit, () => filled);
    expect((await post(filled, {})).status).toBe(429);
    expect((await post(`::ffff:${filled}`, {})).status).toBe(429);
    notLimited(await post(someAddress(), {}));

    // IPv6 by /64 (contract.md, "REST"): all of it belongs to one subscriber.
    const network = someNetwork();
    await fill(rate.limit, (n) => `${network}::${n + 1}`);
    expect((await post(`${network}:ffff:ffff:ffff:ffff`, {})).status).toBe(429);
    notLimited(await post(`${someNetwork()}::1`, {}));
  };

/** A page, whose refusal is one too; opening it is what counts, whatever it answers. */
const authorizePage: Play<Row> = async (stage, row) => {
  const open = (address: string): Promise<Answer> =>
    stage.anyone('GET', '/api/mcp-oauth/authorize?client_id=x', { headers: { 'x-forwarded-for': address } });
  const hint = async (address: string): Promise<number | undefined> => {
    const { status, headers, text } = await open(address);
    expect(text).toContain('<h1>');
    if (status !== 429) expect(status).toBe(400);
    return status === 429 ? Number(headers.get('retry-after')) : undefined;
  };
  const address = someAddress();
  await expectWindow(stage.pair.clock, rateOf(row), () => hint(address));
  const filled = someNetwork();
  for (let n = 0; n < rateOf(row).limit; n++) await open(`${filled}::${n + 1}`);
  expect(await hint(`${filled}:ffff:ffff:ffff:ffff`)).toBe(rateOf(row).windowMs / 1_000);
  expect(await hint(someAddress())).toBeUndefined();
  // Who has opened the page can decide: its form has as many for itself, and is not to be had without the page's origin.
  const post = (headers: Readonly<Record<string, string>>): Promise<Answer> =>
    stage.anyone('POST', '/api/mcp-oauth/authorize', {
      rawBody: 'client_id=x',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'x-forwarded-for': `${filled}::1`,
        ...headers,
      },
    });
  const { json } = await stage.anyone('GET', '/.well-known/oauth-authorization-server');
  const origin = json.issuer as string;
  for (let n = 0; n < rateOf(row).limit; n++) expect((await post({ origin })).status).toBe(400);
  const { status, headers } = await post({ origin });
  expect([status, Number(headers.get('retry-after'))]).toEqual([429, rateOf(row).windowMs / 1_000]);
  expect((await post({})).status).toBe(403);
};

const TOKEN = '/api/mcp-oauth/token';

/** Each client has a count of its own at each address; what no client has, counts together. */
const perClient: Play<Row> = async (stage, row) => {
  const rate = rateOf(row);
  const ask = (address: string, clientId: string): Promise<Answer> =>
    stage.anyone('POST', TOKEN, {
      rawBody: new URLSearchParams({ client_id: clientId, grant_type: 'x' }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': address },
    });
  const register = async (): Promise<string> => {
    const body = { redirect_uris: ['http://127.0.0.1/callback'] };
    const headers = { 'x-forwarded-for': someAddress() };
    return (await stage.anyone('POST', '/api/mcp-oauth/register', { body, headers })).json.client_id;
  };
  const refused = ({ status, json }: Answer): void =>
    expect([status, json.error]).toEqual([400, 'unsupported_grant_type']);
  const [one, other, address] = [await register(), await register(), someAddress()];
  await expectWindowAt(stage.pair.clock, rate, { call: () => ask(address, one), passes: refused });

  for (let n = 1; n < rate.limit; n++) refused(await ask(address, one));
  expect((await ask(address, one)).status).toBe(429);
  refused(await ask(address, other));
  refused(await ask(someAddress(), one));

  // Who makes up a client for each request has no more requests by it.
  const madeUp = someAddress();
  for (let n = 0; n < rate.limit; n++)
    expect((await ask(madeUp, n % 2 ? `ocl_${n}` : `https://${n}.example/client`)).status).toBe(400);
  expect((await ask(madeUp, 'https://another.example/client')).status).toBe(429);
  refused(await ask(madeUp, one));
};

export const ADDRESS_PLAYS = {
  oauth_register: perAddress('/api/mcp-oauth/register'),
  oauth_authorize: authorizePage,
  oauth_token: perClient,
  oauth_revoke: perAddress('/api/mcp-oauth/revoke'),
  oauth_introspect: perAddress('/api/mcp-oauth/introspect'),
  cli_login_begin: perAddress('/api/cli/login/begin'),
  cli_login_exchange: perAddress('/api/cli/login/exchange'),
  cli_login_refresh: perAddress('/api/cli/login/refresh'),
} as const satisfies Partial<Record<keyof typeof LIMIT_ROWS, Play<Row>>>;
