import { newId } from '@svault/shared';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestPair, startPair } from '@svault/test-kit/pair';
import { type Answer, type Call, clientOf } from '../support/management-service.ts';
import { COUNTRIES_MMDB } from '../support/policy-calls.ts';

let pair: TestPair;
let admin: Call;
let agentId: string;
const ids: Record<string, string> = {};

beforeAll(async () => {
  pair = await startPair({ logLevel: 'silent', env: { SV_GEOIP_DB: COUNTRIES_MMDB } });
  admin = clientOf(pair.controlPlaneUrl(), { authorization: `Bearer ${pair.adminKey}` });
  const post = async (path: string, body: object) => (await admin('POST', path, { body })).json;
  agentId = (await post('/api/agents', { name: 'builder' })).agent.id;
  await post('/api/tokens', { serviceName: 'github', tokenType: 'PlainText' });
  const attached = async (name: string, target: object, ...rules: object[]): Promise<void> => {
    const { id } = await post('/api/policies', { name, rules });
    await post(`/api/policies/${id}/attachments`, target);
    ids[name] = id;
  };
  const agent = { targetType: 'agent', targetId: agentId };
  const windows = [{ days: [5], start: '12:00', end: '13:00' }];
  await attached(
    'office',
    agent,
    { type: 'time_window', timezone: 'UTC', windows },
    { type: 'ip_allowlist', cidrs: ['193.0.0.0/16'] },
  );
  await attached(
    'of the token',
    { targetType: 'token', targetId: 'github' },
    { type: 'geo_restrict', mode: 'allow', countries: ['NL'] },
    { type: 'max_usage', limit: 2 },
    { type: 'rate_limit', limit: 1, windowSeconds: 60 },
  );
  await attached('switched off', agent, { type: 'manual_approval' });
  await admin('PATCH', `/api/policies/${ids['switched off']}`, { body: { enabled: false } });
});
afterAll(() => pair.close());

const simulate = (body: object): Promise<Answer> => admin('POST', '/api/policies/simulate', { body });
const part = (policy: string, targetType: string, rule: string, allowed: boolean, more = {}) => ({
  policyId: ids[policy],
  policy,
  targetType,
  rule,
  allowed,
  ...more,
});

test("a simulation shows the decision and each rule's part, and counts nothing", async () => {
  const request = { agentId, serviceName: 'github', ip: '193.0.6.139', at: '2026-11-27T12:30:00Z' };
  for (let n = 0; n < 5; n++) {
    const { status, json } = await simulate(request);
    expect(status).toBe(200);
    expect(json).toEqual({
      decision: 'allowed',
      at: '2026-11-27T12:30:00.000Z',
      ip: '193.0.6.139',
      country: 'NL',
      rules: [
        part('office', 'agent', 'time_window', true),
        part('office', 'agent', 'ip_allowlist', true),
        part('of the token', 'token', 'geo_restrict', true),
        part('of the token', 'token', 'max_usage', true, { used: 0 }),
        part('of the token', 'token', 'rate_limit', true),
      ],
    });
  }
});

test('a simulation shows the denial and every other rule that would deny', async () => {
  const { json } = await simulate({
    agentId,
    serviceName: 'github',
    ip: '8.8.8.8',
    at: '2026-11-26T12:30:00Z',
  });
  expect(json).toMatchObject({
    decision: 'denied',
    denial: { policy: 'office', rule: 'time_window', reason: expect.stringMatching(/\w/) },
    country: 'US',
  });
  expect(json.rules.map(({ allowed }: { allowed: boolean }) => allowed)).toEqual([
    false,
    false,
    false,
    true,
    true,
  ]);
});

test('a simulation without a time is at the present, and one without an address has none', async () => {
  const { json } = await simulate({ agentId, serviceName: 'other' });
  expect(json).toMatchObject({
    decision: 'denied',
    denial: { rule: 'ip_allowlist' },
    at: '2026-11-20T12:00:00.000Z',
    ip: null,
    country: null,
  });
  expect(json.rules).toHaveLength(2);
});

test('a simulation treats an IPv4-mapped address as the IPv4 address', async () => {
  const { json } = await simulate({ agentId, serviceName: 'github', ip: '::ffff:193.0.6.139' });
  expect(json).toMatchObject({ decision: 'allowed', country: 'NL' });
});

test('a simulation for an unknown agent or proxy gets 404, for a deleted agent CONFLICT', async () => {
  const serviceName = 'github';
  const foreign = await admin('GET', `/api/agents/${newId('agt')}`);
  for (const who of [
    { agentId: newId('agt') },
    { agentId: 'x' },
    { proxyId: newId('prx') },
    { proxyId: agentId },
  ]) {
    const answer = await simulate({ ...who, serviceName });
    expect([answer.status, answer.text]).toEqual([404, foreign.text]);
  }
  const { id } = (await admin('POST', '/api/agents', { body: { name: 'gone' } })).json.agent;
  await admin('DELETE', `/api/agents/${id}`);
  expect((await simulate({ agentId: id, serviceName })).json.code).toBe('CONFLICT');
});

test.each([
  [{}, 'agentId'],
  [{ agentId: 'a', proxyId: 'b' }, 'agentId'],
  [{ agentId: 'a', serviceName: 'a/b' }, 'serviceName'],
  [{ agentId: 'a', at: 'tomorrow' }, 'at'],
  [{ agentId: 'a', ip: '127.1' }, 'ip'],
  [{ agentId: 'a', ip: 'localhost' }, 'ip'],
  [{ agentId: 'a', grantId: 'g' }, 'grantId'],
])('the simulation %j is rejected', async (body, path) => {
  const answer = await simulate({ serviceName: 'github', ...body });
  expect([answer.status, answer.json.issues[0].path]).toEqual([422, path]);
});

test('a start with a bad SV_GEOIP_DB fails and names the file', async () => {
  const starting = startPair({ logLevel: 'silent', env: { SV_GEOIP_DB: '/nowhere/countries.mmdb' } });
  await expect(starting).rejects.toThrow('SV_GEOIP_DB: /nowhere/countries.mmdb cannot be read');
});
