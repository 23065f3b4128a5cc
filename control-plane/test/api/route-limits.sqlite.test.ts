import { expect, test } from 'vitest';
import { type Answer, BASE_URL } from '../support/management-service.ts';
import { REDIRECT } from '../support/oauth-client.ts';
import { proxyOn } from '../support/proxy-steps.ts';
import { useService } from '../support/use-service.ts';

// Which limit a route counts against, whose count it is, and for how long. The numbers in force: limits/tables.test.ts.

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A different number for each limit. */
const LIMITS = {
  account_export: 2,
  setup_step: 3,
  key_reveal: 4,
  oauth_register: 5,
  oauth_authorize: 6,
  oauth_token: 7,
  oauth_revoke: 8,
  oauth_introspect: 9,
  cli_login_begin: 10,
  cli_login_exchange: 11,
  cli_login_refresh: 12,
};
const service = useService({
  SV_TRUSTED_PROXIES: '127.0.0.0/8',
  ...Object.fromEntries(
    Object.entries(LIMITS).map(([scope, limit]) => [`SV_LIMIT_${scope.toUpperCase()}`, String(limit)]),
  ),
});

let networks = 0;
/** IPv6 counts by /64, which belongs to one subscriber. */
const someNetwork = (): string => `2001:db8:0:${(++networks).toString(16)}`;

/**
 * The limit is used up within its window and not before, and there is as much of it in the next.
 *
 * @param ask the n-th request that counts
 * @param others requests that count for somebody else
 */
async function expectLimit(
  { limit, seconds }: { readonly limit: number; readonly seconds: number },
  ask: (n: number) => Promise<Answer>,
  ...others: readonly (() => Promise<Answer>)[]
): Promise<void> {
  for (let n = 0; n < limit; n++) expect([n, (await ask(n)).status]).not.toEqual([n, 429]);
  const { status, headers } = await ask(limit);
  expect([status, headers.get('retry-after')]).toEqual([429, String(seconds)]);
  for (const other of others) expect((await other()).status).not.toBe(429);
  service.clock.advance(seconds * 1_000 - 1);
  expect((await ask(limit + 1)).headers.get('retry-after')).toBe('1');
  service.clock.advance(1);
  expect((await ask(limit + 2)).status).not.toBe(429);
}

const post = (path: string, address: string, body: string, type: string): Promise<Answer> =>
  service.anyone('POST', path, {
    rawBody: body,
    headers: { 'content-type': type, 'x-forwarded-for': address, origin: BASE_URL },
  });
const FORM = 'application/x-www-form-urlencoded';

// spec: account_export | 5 per hour per account.
test('an account may be exported so often an hour', () =>
  expectLimit({ limit: LIMITS.account_export, seconds: HOUR }, () =>
    service.admin('GET', '/api/account/export'),
  ));

// spec: setup_step | 30 per day per account.
test('an account may mark so many steps of the guide a day', async () => {
  const { paths } = (await service.anyone('GET', '/api/openapi.json')).json;
  const [{ schema }] = paths['/api/setup/steps/{step}'].post.parameters;
  const path = `/api/setup/steps/${schema.enum[0]}`;
  await expectLimit({ limit: LIMITS.setup_step, seconds: DAY }, () => service.admin('POST', path));
});

// spec: key_reveal | 20 per hour per agent or proxy | Revealing a key.
// spec: Key-reveal (an audited action) is limited per agent or proxy (see Limits).
test('the key of an agent or a proxy may be revealed so often an hour, with an event each time', async () => {
  const agents = [];
  for (const name of ['a', 'b'])
    agents.push((await service.admin('POST', '/api/agents', { body: { name } })).json.agent.id);
  const proxies = [await proxyOn(service), await proxyOn(service)].map(({ id }) => id);
  for (const [kind, [one, other]] of Object.entries({ agents, proxies })) {
    const reveal = (id: string | undefined) => (): Promise<Answer> =>
      service.admin('POST', `/api/${kind}/${id}/reveal-key`);
    await expectLimit({ limit: LIMITS.key_reveal, seconds: HOUR }, reveal(one), reveal(other));
  }
  const { items } = (await service.admin('GET', '/api/audit?eventType=KEY_REVEALED&limit=100')).json;
  expect(items).toHaveLength(2 * (LIMITS.key_reveal + 2));
});

/** A request counts whatever its body is, so that guesses are limited. */
// spec: OAuth register | 30 per hour per IP
// spec: OAuth revoke | 60 per hour per IP
// spec: OAuth introspect | 600 per minute per IP
// spec: CLI login (begin) | 20 per hour per IP
// spec: CLI login (exchange) | 30 per hour per IP
// spec: CLI login (refresh) | 600 per hour per IP
test.each([
  ['/api/mcp-oauth/register', LIMITS.oauth_register, HOUR],
  ['/api/mcp-oauth/revoke', LIMITS.oauth_revoke, HOUR],
  ['/api/mcp-oauth/introspect', LIMITS.oauth_introspect, MINUTE],
  ['/api/cli/login/begin', LIMITS.cli_login_begin, HOUR],
  ['/api/cli/login/exchange', LIMITS.cli_login_exchange, HOUR],
  ['/api/cli/login/refresh', LIMITS.cli_login_refresh, HOUR],
  ['/api/mcp-oauth/authorize', LIMITS.oauth_authorize, HOUR],
])('POST %s counts by address', async (path, limit, seconds) => {
  const network = someNetwork();
  const type = path.includes('oauth') && !path.endsWith('register') ? FORM : 'application/json';
  const guess = (address: string) => post(path, address, type === FORM ? 'a=b' : '{"guess":1}', type);
  await expectLimit(
    { limit, seconds },
    (n) => guess(`${network}::${n + 1}`),
    () => guess(`${someNetwork()}::1`),
    () => guess('198.51.100.7'),
  );
});

// spec: OAuth authorize | 30 per hour per IP
test('GET /api/mcp-oauth/authorize counts by address, apart from the form of its page', async () => {
  const network = someNetwork();
  const open = (n: number): Promise<Answer> =>
    service.anyone('GET', '/api/mcp-oauth/authorize?client_id=x', {
      headers: { 'x-forwarded-for': `${network}::${n + 1}` },
    });
  const decide = () => post('/api/mcp-oauth/authorize', `${network}::1`, 'client_id=x', FORM);
  await expectLimit({ limit: LIMITS.oauth_authorize, seconds: HOUR }, open, decide);
  expect((await open(0)).text).toContain('<h1>');
});

// spec: OAuth token | 60 per hour per (IP, client_id)
test('POST /api/mcp-oauth/token counts by client and address', async () => {
  const register = async (): Promise<string> => {
    const body = JSON.stringify({ redirect_uris: [REDIRECT] });
    const address = `${someNetwork()}::1`;
    return (await post('/api/mcp-oauth/register', address, body, 'application/json')).json.client_id;
  };
  const [one, other, address] = [await register(), await register(), `${someNetwork()}::1`];
  const ask =
    (from: string, clientId = one) =>
    (): Promise<Answer> =>
      post('/api/mcp-oauth/token', from, `client_id=${clientId}&grant_type=x`, FORM);
  await expectLimit(
    { limit: LIMITS.oauth_token, seconds: HOUR },
    ask(address),
    ask(address, other),
    ask(`${someNetwork()}::1`),
  );
  // A made-up client for each request gains nothing.
  await expectLimit({ limit: LIMITS.oauth_token, seconds: HOUR }, (n) => ask(address, `ocl_${n}`)());
});
