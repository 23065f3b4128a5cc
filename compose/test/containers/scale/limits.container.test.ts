import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { anotherAccount } from './another-account.ts';
import { type Call, type Doors, bearer, doorsOf, done, gist, spread, tally, withHeaders } from './doors.ts';
import { startInternetClient } from './internet-client.ts';
import { type Scale, startScale } from './scale.ts';
import {
  type Agent,
  PROXY,
  askFor,
  attach,
  callTool,
  listGrants,
  makeAgent,
  makeProxy,
  rpc,
} from './agents.ts';
import { seedStrikes } from './valkey.ts';

/*
 * The specification's "Limits", counted over three control planes: calls come in at each of them and through the proxy at the
 * same time, and what is let through in all is the limit, never one more.
 */

let scale: Scale;
let doors: Doors;
let admin: Call;
beforeAll(async () => {
  scale = await startScale();
  doors = await doorsOf(scale);
  admin = bearer(doors.proxy, scale.adminKey);
  // So that the account's own ceiling, which grows with them, is far from what all tests here ask together.
  await Promise.all(Array.from({ length: 6 }, () => makeProxy(admin, { serviceName: 'idle' })));
});
afterAll(async () => {
  await doors?.close();
  await scale?.remove();
});

const LIMITED = '429 RATE_LIMITED';

/** Every door's view of who is in the penalty box. */
const strikesOf = async (callerId: string): Promise<readonly number[]> => {
  const seen: number[] = [];
  for (const door of doors.all) {
    const { items } = await done(bearer(door, scale.adminKey)('GET', '/api/limits/lockouts'));
    const found = (items as { callerId: string; strikes: number }[]).find(
      (item) => item.callerId === callerId,
    );
    seen.push(found?.strikes ?? 0);
  }
  return seen;
};

/** What the next call at each door gets, one after another. */
const atEach = async (ask: (door: Call) => Promise<{ status: number }>): Promise<readonly number[]> => {
  const statuses: number[] = [];
  for (const door of doors.all) statuses.push((await ask(door)).status);
  return statuses;
};

const EVERYWHERE_LIMITED = [429, 429, 429, 429];

describe('of an agent', () => {
  test('60 a minute at REST and MCP together, then one strike, and locked out at every door', async () => {
    const agent = await makeAgent(admin, 'granted');
    const answers = await spread(100, doors.all, (door, n) =>
      (n >> 2) % 2 === 0 ? askFor(door, agent, 'granted') : callTool(door, agent.apiKey, 'whoami'),
    );
    const { [LIMITED]: limited, ...passed } = tally(answers);
    expect(Object.keys(passed).sort()).toEqual(['200', '307']);
    expect((passed['200'] ?? 0) + (passed['307'] ?? 0)).toBe(60);
    expect(limited).toBe(40);
    expect(await atEach((door) => listGrants(door, agent))).toEqual(EVERYWHERE_LIMITED);
    expect(await atEach((door) => callTool(door, agent.apiKey, 'whoami'))).toEqual(EVERYWHERE_LIMITED);
    expect(await atEach((door) => rpc(door, agent.apiKey, 'tools/list'))).toEqual(EVERYWHERE_LIMITED);
    expect(await strikesOf(agent.id)).toEqual([1, 1, 1, 1]);
  });

  test.each([
    { strikes: 8, before: 7, seconds: 128 },
    { strikes: 10, before: 9, seconds: 512 },
    { strikes: 13, before: 12, seconds: 900 },
  ])('strike $strikes locks out for $seconds s at every door', async ({ strikes, before, seconds }) => {
    const agent = await makeAgent(admin);
    await listGrants(doors.proxy, agent);
    await seedStrikes(scale, agent.id, before);
    const answers = await spread(62, doors.all, (door) => listGrants(door, agent));
    expect(tally(answers)).toEqual({ '200': 59, [LIMITED]: 3 });
    expect(await strikesOf(agent.id)).toEqual([strikes, strikes, strikes, strikes]);
    for (const door of doors.all) {
      const { status, json } = await listGrants(door, agent);
      expect(status).toBe(429);
      expect(json.retryAfter).toBeLessThanOrEqual(seconds);
      expect(json.retryAfter).toBeGreaterThan(Math.max(64, seconds / 2));
    }
  });

  test('120 handshakes a minute, and no strike: its calls go on', async () => {
    const agent = await makeAgent(admin);
    const answers = await spread(140, doors.all, (door) => rpc(door, agent.apiKey, 'tools/list'));
    expect(tally(answers)).toEqual({ '200': 120, [LIMITED]: 20 });
    expect(await atEach((door) => callTool(door, agent.apiKey, 'whoami'))).toEqual([200, 200, 200, 200]);
    expect(await strikesOf(agent.id)).toEqual([0, 0, 0, 0]);
  });

  test('10 misses a minute, and no strike: what it may have goes on', async () => {
    const agent = await makeAgent(admin, 'granted');
    const answers = await spread(24, doors.all, (door, n) => askFor(door, agent, `unknown-${n}`));
    expect(tally(answers)).toEqual({ '404 NO_GRANT': 10, [LIMITED]: 14 });
    expect(await atEach((door) => askFor(door, agent, 'granted'))).toEqual([307, 307, 307, 307]);
    expect(await strikesOf(agent.id)).toEqual([0, 0, 0, 0]);
  });

  test('20 looks a minute into the history of a credential', async () => {
    const agent = await makeAgent(admin, 'granted');
    const answers = await spread(30, doors.all, (door) =>
      callTool(door, agent.apiKey, 'credential_history', { service: 'granted' }),
    );
    expect(tally(answers)).toEqual({ '200': 20, [LIMITED]: 10 });
  });

  test.each([
    { rule: { type: 'rate_limit', limit: 17, windowSeconds: 300 }, passed: 17, refusal: '429 POLICY_DENIED' },
    { rule: { type: 'max_usage', limit: 23 }, passed: 23, refusal: '403 POLICY_DENIED' },
  ])('$passed uses under a policy of $rule.type', async ({ rule, passed, refusal }) => {
    const agent = await makeAgent(admin, 'granted');
    await attach(admin, 'agent', agent.id, rule);
    const answers = await spread(50, doors.all, (door) => askFor(door, agent, 'granted'));
    expect(tally(answers)).toEqual({ '307': passed, [refusal]: 50 - passed });
  });

  test('20 reveals of its key an hour', async () => {
    const agent = await makeAgent(admin);
    const answers = await spread(30, doors.all, (door) =>
      bearer(door, scale.adminKey)('POST', `/api/agents/${agent.id}/reveal-key`),
    );
    expect(tally(answers)).toEqual({ '200': 20, [LIMITED]: 10 });
  });
});

describe('of a proxy', () => {
  test('300 a minute, then one strike, and locked out at every door; handshakes apart', async () => {
    const proxy = await makeProxy(admin, { serviceName: 'idle' });
    // Denied behind the limits, so that no webhook is asked.
    await attach(admin, 'proxy', proxy.id, { type: 'manual_approval' });
    const ask = (method: string) => (door: Call) => rpc(door, proxy.key, method, {}, PROXY);
    expect(tally(await spread(130, doors.all, ask('initialize')))).toEqual({
      '403 POLICY_DENIED': 120,
      [LIMITED]: 10,
    });
    expect(await strikesOf(proxy.id)).toEqual([0, 0, 0, 0]);
    expect(tally(await spread(320, doors.all, ask('tools/call')))).toEqual({
      '403 POLICY_DENIED': 300,
      [LIMITED]: 20,
    });
    expect(await atEach(ask('tools/call'))).toEqual(EVERYWHERE_LIMITED);
    expect(await atEach(ask('initialize'))).toEqual(EVERYWHERE_LIMITED);
    expect(await strikesOf(proxy.id)).toEqual([1, 1, 1, 1]);
  });
});

describe('of an account', () => {
  test('600 a minute for four agents, handshakes too, and no strike', async () => {
    const key = await anotherAccount(scale);
    const owner = bearer(doors.proxy, key);
    const agents = await Promise.all([1, 2, 3, 4].map(() => makeAgent(owner)));
    const agentOf = (n: number): Agent => agents[(n >> 2) % agents.length] as Agent;
    // Each stays within its own 60 calls and 120 handshakes.
    const calls = await spread(240, doors.all, (door, n) => listGrants(door, agentOf(n)));
    const handshakes = await spread(400, doors.all, (door, n) => rpc(door, agentOf(n).apiKey, 'tools/list'));
    expect(tally(calls)).toEqual({ '200': 240 });
    expect(tally(handshakes)).toEqual({ '200': 360, [LIMITED]: 40 });
    expect((await done(owner('GET', '/api/limits/lockouts'))).items).toEqual([]);
    // Its ceiling is nobody else's.
    expect((await listGrants(doors.proxy, await makeAgent(admin))).status).toBe(200);
  });

  test('5 exports an hour, and 30 steps of the guide a day', async () => {
    const key = await anotherAccount(scale);
    const exports = await spread(9, doors.all, (door) => bearer(door, key)('GET', '/api/account/export'));
    expect(exports.map(gist).sort()).toEqual([...Array<string>(5).fill('200'), ...Array(4).fill(LIMITED)]);
    const steps = await spread(40, doors.all, (door) =>
      bearer(door, key)('POST', '/api/setup/steps/bind-webhook', { body: { state: 'dismissed' } }),
    );
    expect(steps.filter(({ status }) => status === 429)).toHaveLength(10);
    expect(steps.filter(({ status }) => status < 300)).toHaveLength(30);
  });

  test('10 refreshes of a token an hour', async () => {
    const serviceName = 'refreshed';
    await done(admin('POST', '/api/tokens', { body: { serviceName, tokenType: 'JWT' } }));
    const statuses: number[] = [];
    for (let n = 0; n < 15; n += 1) {
      const door = bearer(doors.all[n % 4] as Call, scale.adminKey);
      statuses.push((await door('POST', `/api/tokens/${serviceName}/refresh`)).status);
    }
    expect(statuses.filter((status) => status === 429)).toHaveLength(5);
    expect(statuses.slice(10)).toEqual([429, 429, 429, 429, 429]);
  });
});

describe('of an address', () => {
  const OAUTH = '/api/mcp-oauth';
  const post = (path: string, body: object) => (door: Call) => door('POST', path, { body });
  const postForm = (path: string, form: Readonly<Record<string, string>>) => (door: Call) =>
    door('POST', path, { form });
  const code = { code: 'A'.repeat(43), codeVerifier: 'A'.repeat(43) };
  const wrong = { email: 'nobody@example.org', password: 'wrong' };
  const client = { redirect_uris: ['http://127.0.0.1:4/callback'], client_name: 'c' };
  const exchanged = { grant_type: 'authorization_code', code: 'x', client_id: 'nobody' };

  test.each([
    ['OAuth register', 30, post(`${OAUTH}/register`, client)],
    ['OAuth authorize', 30, (door: Call) => door('GET', `${OAUTH}/authorize?client_id=nobody`)],
    ['OAuth token', 60, postForm(`${OAUTH}/token`, exchanged)],
    ['OAuth revoke', 60, postForm(`${OAUTH}/revoke`, { token: 'x' })],
    ['OAuth introspect', 600, postForm(`${OAUTH}/introspect`, { token: 'x' })],
    ['the beginning of a login', 20, post('/api/cli/login/begin', { codeChallenge: 'A'.repeat(43) })],
    ['the exchange of a login', 30, post('/api/cli/login/exchange', code)],
    ['the refresh of a login', 600, post('/api/cli/login/refresh', { refreshToken: 'x' })],
    ['passwords', 20, post('/api/login', wrong)],
  ])('%s: %i times, and another address has its own', async (name, limit, ask) => {
    const last = [...name].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0) % 250;
    const from = (address: string) => (door: Call) => ask(withHeaders(door, { 'x-forwarded-for': address }));
    const answers = await spread(limit + 12, doors.direct, from(`203.0.113.${last}`));
    const limited = answers.filter(({ status }) => status === 429);
    expect(limited).toHaveLength(12);
    for (const { headers } of limited) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    const others = await Promise.all(doors.direct.map(from(`192.0.2.${last}`)));
    expect(others.filter(({ status }) => status === 429)).toEqual([]);
  });

  test('all addresses of an IPv6 /64 are one, and the next /64 is another', async () => {
    const ask = (address: string) => (door: Call) =>
      postForm(`${OAUTH}/revoke`, { token: 'x' })(withHeaders(door, { 'x-forwarded-for': address }));
    const answers = await spread(80, doors.direct, (door, n) => ask(`2001:db8:7:7:${n}::${n}`)(door));
    expect(tally(answers)).toMatchObject({ '200': 60 });
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
    expect((await ask('2001:db8:7:8::1')(doors.direct[0])).status).toBe(200);
  });

  test('through the proxy the address is the caller’s, with every claim in its headers', async () => {
    const [one, other] = [await startInternetClient(scale), await startInternetClient(scale)];
    try {
      const begin = { method: 'POST', url: `${scale.url}/api/cli/login/begin` };
      const request = { ...begin, body: { codeChallenge: 'A'.repeat(43) } };
      const [ones, others] = await Promise.all([one.ask(26, request), other.ask(20, request)]);
      expect(ones).toEqual([...Array<number>(20).fill(200), ...Array<number>(6).fill(429)]);
      expect(others).toEqual(Array(20).fill(200));
      expect(await other.ask(1, request)).toEqual([429]);
    } finally {
      await one.remove();
      await other.remove();
    }
  });
});
