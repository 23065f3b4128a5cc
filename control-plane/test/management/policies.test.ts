import { type TestPair, startPair } from '@svault/test-kit/pair';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RuleSettings } from '../../src/core/policy.ts';
import type { Answer } from '../support/management-service.ts';
import { type PairAgent, agentOn, storeOn } from '../support/pair-agents.ts';
import { COUNTRIES_MMDB, policySteps, toAgent, toToken } from '../support/policy-calls.ts';

// Each rule type as an agent meets it, with the reference webhook. The pair's clock begins on
// Friday, 2026-11-20, 12:00 UTC.

let pair: TestPair;
let agent: PairAgent;
const { make, attach, detach, change, askFrom } = policySteps(() => pair);

beforeAll(async () => {
  pair = await startPair({
    logLevel: 'silent',
    env: { SV_TRUSTED_PROXIES: '127.0.0.0/8', SV_GEOIP_DB: COUNTRIES_MMDB },
  });
  await storeOn(pair, 'github', { tokenType: 'PlainText', value: 'v' });
});
afterAll(() => pair.close());
beforeEach(async () => {
  agent = await agentOn(pair, 'github');
});

async function attached(name: string, ...rules: RuleSettings[]): Promise<string> {
  const policyId = await make(name, ...rules);
  await attach(policyId, toAgent(agent));
  return policyId;
}

/** The body of a policy denial, member by member. */
function expectDenied(answer: Answer, policy: string, rule: RuleSettings['type']): void {
  expect([answer.status, answer.json]).toEqual([
    403,
    {
      error: expect.stringMatching(/\w/),
      policy,
      rule,
      reason: expect.stringMatching(/\w/),
      code: 'POLICY_DENIED',
    },
  ]);
  expect(answer.headers.has('retry-after')).toBe(false);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('location')).toBeNull();
}

const successes = async (): Promise<number> => {
  const { items } = await pair.admin.call<{ items: { outcome: string }[] }>(
    'GET',
    `/api/audit?limit=100&agentId=${agent.id}&eventType=AGENT_CREDENTIAL_ACCESS`,
  );
  return items.filter(({ outcome }) => outcome === 'success').length;
};

test('time_window: open from start to end in its zone', async () => {
  const windows = [{ days: [5], start: '13:00', end: '13:30' }];
  await attached('office hours', { type: 'time_window', timezone: 'Europe/Berlin', windows });
  expect((await agent.fetch('github')).json.token.accessToken).toBe('v');
  pair.clock.advance(30 * 60_000 - 1);
  expect((await agent.ask('github')).status).toBe(307);
  pair.clock.advance(1);
  expectDenied(await agent.ask('github'), 'office hours', 'time_window');
  expect((await agent.list()).json.grants).toHaveLength(1);
});

describe('ip_allowlist', () => {
  test('lets the networks on the list through, IPv4-mapped ones too', async () => {
    await attached('our network', { type: 'ip_allowlist', cidrs: ['192.0.2.0/24', '2001:db8::/32'] });
    for (const address of ['192.0.2.7', '::ffff:192.0.2.7', '2001:db8::7', '::FFFF:C000:207'])
      expect([address, (await askFrom(agent, address)).status]).toEqual([address, 307]);
    for (const address of ['198.51.100.7', '::ffff:198.51.100.7', '2001:db9::7'])
      expectDenied(await askFrom(agent, address), 'our network', 'ip_allowlist');
  });

  test('believes only what a trusted proxy wrote, and denies an address that is not known', async () => {
    await attached('our network', { type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] });
    // A client's own header, to which the proxy appended the address that it saw.
    expectDenied(await askFrom(agent, '192.0.2.7, 198.51.100.7'), 'our network', 'ip_allowlist');
    expect((await askFrom(agent, '198.51.100.7, 192.0.2.7')).status).toBe(307);
    expectDenied(await askFrom(agent, 'unknown'), 'our network', 'ip_allowlist');
    expectDenied(await agent.ask('github'), 'our network', 'ip_allowlist');
  });
});

describe('geo_restrict', () => {
  const DUTCH = '193.0.6.139';
  const AMERICAN = '8.8.8.8';
  const PRIVATE = '10.1.2.3';

  test('allow: the countries on the list, and none that cannot be told', async () => {
    await attached('Netherlands', { type: 'geo_restrict', mode: 'allow', countries: ['NL'] });
    expect((await askFrom(agent, DUTCH)).status).toBe(307);
    expect((await askFrom(agent, `::ffff:${DUTCH}`)).status).toBe(307);
    for (const address of [AMERICAN, PRIVATE, '::1', 'unknown'])
      expectDenied(await askFrom(agent, address), 'Netherlands', 'geo_restrict');
  });

  test('deny: all but the countries on the list, those that cannot be told too', async () => {
    await attached('not from there', { type: 'geo_restrict', mode: 'deny', countries: ['NL', 'BE'] });
    expectDenied(await askFrom(agent, DUTCH), 'not from there', 'geo_restrict');
    for (const address of [AMERICAN, PRIVATE]) expect((await askFrom(agent, address)).status).toBe(307);
  });
});

describe('rate_limit', () => {
  const three: RuleSettings = { type: 'rate_limit', limit: 3, windowSeconds: 20 };

  // spec: 429 | POLICY_DENIED | A rate_limit rule blocked it. The body adds retryAfter, and the response carries a Retry-After header.
  // spec: With rate_limit, also retryAfter (integer seconds).
  // spec: An ABAC rate_limit rule adds its own ceiling on top of all of the above. Its denial is 429 and names the policy.
  test('is a 429 that names the policy and says when to come back', async () => {
    await attached('slowly', three);
    for (let n = 0; n < 3; n++) expect((await agent.ask('github')).status).toBe(307);
    const answer = await agent.ask('github');
    expect([answer.status, answer.json]).toEqual([
      429,
      {
        error: expect.stringMatching(/\w/),
        policy: 'slowly',
        rule: 'rate_limit',
        reason: expect.stringMatching(/\w/),
        code: 'POLICY_DENIED',
        retryAfter: expect.any(Number),
      },
    ]);
    expect(answer.json.retryAfter).toBeGreaterThan(0);
    expect(answer.json.retryAfter).toBeLessThanOrEqual(20);
    expect(answer.headers.get('retry-after')).toBe(String(answer.json.retryAfter));
    const { items } = await pair.admin.call<{ items: unknown[] }>('GET', `/api/audit?agentId=${agent.id}`);
    expect(items).toContainEqual(
      expect.objectContaining({
        outcome: 'rate_limited',
        serviceName: 'github',
        detail: { code: 'POLICY_DENIED', policy: 'slowly', rule: 'rate_limit' },
      }),
    );
  });

  test('counts only what every other rule let through', async () => {
    await attached('slowly', three);
    const policyId = await make('our network', { type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] });
    await attach(policyId, toAgent(agent));
    for (let n = 0; n < 5; n++)
      expectDenied(await askFrom(agent, '198.51.100.1'), 'our network', 'ip_allowlist');
    for (let n = 0; n < 3; n++) expect((await askFrom(agent, '192.0.2.1')).status).toBe(307);
    expect((await askFrom(agent, '192.0.2.1')).status).toBe(429);
  });
});

describe('max_usage', () => {
  // spec: max_usage (lifetime usage cap)
  test('ends for good, and a restart does not give uses back', async () => {
    await attached('twice', { type: 'max_usage', limit: 2 });
    expect((await agent.fetch('github')).json.token.accessToken).toBe('v');
    await pair.stop('control-plane');
    await pair.start('control-plane');
    expect((await agent.fetch('github')).status).toBe(200);
    expectDenied(await agent.ask('github'), 'twice', 'max_usage');
    pair.clock.advance(365 * 24 * 3_600_000);
    expectDenied(await agent.ask('github'), 'twice', 'max_usage');
    expect(await successes()).toBe(2);
  });

  test('counts only what every other rule let through, and is counted against no rate once used up', async () => {
    await attached('twice', { type: 'max_usage', limit: 2 });
    const network = await make('our network', { type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] });
    const rate = await make('slowly', { type: 'rate_limit', limit: 3, windowSeconds: 20 });
    for (const policyId of [network, rate]) await attach(policyId, toAgent(agent));
    for (let n = 0; n < 5; n++) await askFrom(agent, '198.51.100.1');
    for (let n = 0; n < 2; n++) expect((await askFrom(agent, '192.0.2.1')).status).toBe(307);
    for (let n = 0; n < 5; n++) expectDenied(await askFrom(agent, '192.0.2.1'), 'twice', 'max_usage');
    await detach((await policyIdOf('twice')) ?? '', toAgent(agent));
    expect((await askFrom(agent, '192.0.2.1')).status).toBe(307);
    expect((await askFrom(agent, '192.0.2.1')).status).toBe(429);
  });

  test('counts nothing where no ticket is given', async () => {
    await attached('twice', { type: 'max_usage', limit: 2 });
    await pair.admin.call('POST', '/api/vault/lock');
    for (let n = 0; n < 3; n++) expect((await agent.ask('github')).status).toBe(423);
    await pair.admin.call('POST', '/api/vault/unlock');
    for (let n = 0; n < 3; n++) expect((await agent.ask('ungranted')).status).toBe(404);
    for (let n = 0; n < 2; n++) expect((await agent.ask('github')).status).toBe(307);
    expectDenied(await agent.ask('github'), 'twice', 'max_usage');
  });

  test('keeps its count when its limit changes, and forgets it when it is detached', async () => {
    const policyId = await attached('uses', { type: 'max_usage', limit: 1 });
    await agent.ask('github');
    await change(policyId, { rules: [{ type: 'manual_approval' }, { type: 'max_usage', limit: 2 }] });
    expectDenied(await agent.ask('github'), 'uses', 'manual_approval');
    await change(policyId, { rules: [{ type: 'max_usage', limit: 2 }] });
    expect((await agent.ask('github')).status).toBe(307);
    expectDenied(await agent.ask('github'), 'uses', 'max_usage');
    await change(policyId, { enabled: false });
    expect((await agent.ask('github')).status).toBe(307);
    await change(policyId, { enabled: true });
    expectDenied(await agent.ask('github'), 'uses', 'max_usage');
    await detach(policyId, toAgent(agent));
    await attach(policyId, toAgent(agent));
    for (let n = 0; n < 2; n++) expect((await agent.ask('github')).status).toBe(307);
    expectDenied(await agent.ask('github'), 'uses', 'max_usage');
  });

  const policyIdOf = async (name: string): Promise<string | undefined> => {
    const { items } = await pair.admin.call<{ items: { id: string; name: string }[] }>(
      'GET',
      `/api/policies?targetType=agent&targetId=${agent.id}`,
    );
    return items.find((policy) => policy.name === name)?.id;
  };
});

// spec: Body shapes (field names, no values):
// spec: Policy denial: {error (string), policy (policy name), rule (rule type), reason (string), code: POLICY_DENIED}.
// spec: manual_approval is currently unavailable. It denies every request the policy is attached to.
test('manual_approval denies every request', async () => {
  await attached('ask me first', { type: 'manual_approval' });
  for (let n = 0; n < 3; n++) expectDenied(await agent.ask('github'), 'ask me first', 'manual_approval');
  expect(await successes()).toBe(0);
});

describe('attachments', () => {
  const approval: RuleSettings = { type: 'manual_approval' };

  test("a token's policy holds for every agent, with one count, and for no other token", async () => {
    await storeOn(pair, 'shared', { tokenType: 'PlainText', value: 's' });
    const agents = [await agentOn(pair, 'shared', 'github'), await agentOn(pair, 'shared')];
    const policyId = await make('three in all', { type: 'max_usage', limit: 3 });
    await attach(policyId, toToken('shared'));
    for (const each of [0, 1, 0]) expect((await agents[each]?.ask('shared'))?.status).toBe(307);
    for (const each of agents) expectDenied(await each.ask('shared'), 'three in all', 'max_usage');
    expect((await agents[0]?.ask('github'))?.status).toBe(307);
  });

  test("all must allow: the agent's policies are named before the token's", async () => {
    await storeOn(pair, 'twofold', { tokenType: 'PlainText', value: 's' });
    const both = await agentOn(pair, 'twofold');
    const [ofToken, ofAgent] = [
      await make('a of the token', approval),
      await make('b of the agent', approval),
    ];
    await attach(ofToken, toToken('twofold'));
    expectDenied(await both.ask('twofold'), 'a of the token', 'manual_approval');
    await attach(ofAgent, toAgent(both));
    expectDenied(await both.ask('twofold'), 'b of the agent', 'manual_approval');
  });

  test('is in force from the next request on, and gone with the next one', async () => {
    const policyId = await make('p', approval);
    expect((await agent.ask('github')).status).toBe(307);
    await attach(policyId, toAgent(agent));
    expectDenied(await agent.ask('github'), 'p', 'manual_approval');
    await change(policyId, { enabled: false });
    expect((await agent.ask('github')).status).toBe(307);
    await change(policyId, { enabled: true, name: 'q' });
    expectDenied(await agent.ask('github'), 'q', 'manual_approval');
    await detach(policyId, toAgent(agent));
    expect((await agent.ask('github')).status).toBe(307);
    await attach(policyId, toAgent(agent));
    await pair.admin.call('DELETE', `/api/policies/${policyId}`);
    expect((await agent.ask('github')).status).toBe(307);
  });

  test('a policy goes with the token: a later token of that name has none', async () => {
    const token = { serviceName: 'anew', tokenType: 'PlainText' };
    await pair.admin.call('POST', '/api/tokens', token);
    await attach(await make('p', approval), toToken('anew'));
    await pair.admin.call('DELETE', '/api/tokens/anew');
    await pair.admin.call('POST', '/api/tokens', token);
    const again = await agentOn(pair, 'anew');
    expect((await again.ask('anew')).status).toBe(307);
  });
});

test('a denial shows in the log with policy and rule, and nothing of the settings is told to the agent', async () => {
  await attached('our network', { type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] });
  const answer = await askFrom(agent, '198.51.100.1');
  expect(answer.text).not.toMatch(/192\.0\.2|198\.51/);
  const { items } = await pair.admin.call<{ items: unknown[] }>('GET', `/api/audit?agentId=${agent.id}`);
  expect(items[0]).toMatchObject({
    eventType: 'AGENT_CREDENTIAL_ACCESS',
    outcome: 'denied',
    serviceName: 'github',
    detail: { code: 'POLICY_DENIED', policy: 'our network', rule: 'ip_allowlist' },
  });
});
