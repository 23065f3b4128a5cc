import { newId } from '@svault/shared';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import type { Answer } from '../support/management-service.ts';
import { COUNTRIES_MMDB } from '../support/policy-calls.ts';
import { uniqueName } from '../support/unique-name.ts';

let service: LinkedService;
let agentId: string;
beforeAll(async () => {
  service = await startLinkedService({ SV_GEOIP_DB: COUNTRIES_MMDB });
  await service.bind();
  await service.admin('POST', '/api/tokens', { body: { serviceName: 'github', tokenType: 'PlainText' } });
});
afterAll(() => service.stop());
beforeEach(async () => {
  agentId = (await service.admin('POST', '/api/agents', { body: { name: uniqueName('builder') } })).json.agent
    .id;
});

const RULES = [
  {
    type: 'time_window',
    timezone: 'Europe/Berlin',
    windows: [{ days: [1, 2, 3, 4, 5], start: '08:00', end: '18:00' }],
  },
  { type: 'ip_allowlist', cidrs: ['10.0.0.0/8', '2001:db8::/32', '192.0.2.1'] },
  { type: 'geo_restrict', mode: 'allow', countries: ['DE', 'NL'] },
  { type: 'rate_limit', limit: 5, windowSeconds: 60 },
  { type: 'max_usage', limit: 100 },
  { type: 'manual_approval' },
];
const create = (body: object): Promise<Answer> => service.admin('POST', '/api/policies', { body });
const made = async (name = 'p', rules: object[] = [{ type: 'manual_approval' }]): Promise<string> =>
  (await create({ name, rules })).json.id;
const attachments = (method: string, id: string, targetType: string, targetId: string): Promise<Answer> =>
  service.admin(method, `/api/policies/${id}/attachments`, { body: { targetType, targetId } });
const events = async (): Promise<readonly { eventType: string; detail: Record<string, unknown> }[]> =>
  (await service.admin('GET', '/api/audit?limit=100')).json.items;
const count = async (path: string): Promise<number> =>
  (await service.admin('GET', `${path}?limit=100`)).json.items.length;
const simulate = (body: object): Promise<Answer> => service.admin('POST', '/api/policies/simulate', { body });

// spec: A policy has a name and one or more rules.
// spec: Rule types: time_window, ip_allowlist, geo_restrict, rate_limit, max_usage (lifetime usage cap), manual_approval.
test('a policy is created, read, changed and deleted, each with an event', async () => {
  const created = { name: 'office', rules: RULES };
  const answer = await create(created);
  const policy = answer.json;
  expect([answer.status, policy]).toEqual([
    201,
    {
      ...created,
      id: expect.stringMatching(/^pol_[\w-]{22}$/),
      enabled: true,
      createdAt: '2026-11-20T12:00:00.000Z',
      updatedAt: '2026-11-20T12:00:00.000Z',
    },
  ]);
  const path = `/api/policies/${policy.id}`;
  expect((await service.admin('GET', path)).json).toEqual(policy);
  expect((await service.admin('GET', '/api/policies')).json.items).toContainEqual({
    ...policy,
    attachments: 0,
  });

  service.clock.advance(1_000);
  const changed = await service.admin('PATCH', path, { body: { enabled: false, rules: [RULES[5]] } });
  const after = { ...policy, enabled: false, rules: [RULES[5]], updatedAt: '2026-11-20T12:00:01.000Z' };
  expect([changed.status, changed.json]).toEqual([200, after]);
  // A policy that was read can be sent back.
  const { name, enabled, rules } = changed.json;
  expect((await service.admin('PATCH', path, { body: { name, enabled, rules } })).json.rules).toEqual(rules);
  expect((await service.admin('PATCH', path, { body: {} })).status).toBe(200);

  expect((await service.admin('DELETE', path)).status).toBe(204);
  for (const method of ['GET', 'PATCH', 'DELETE'])
    expect((await service.admin(method, path, method === 'PATCH' ? { body: {} } : {})).status).toBe(404);
  const { id } = policy;
  expect((await events()).slice(0, 4)).toMatchObject([
    { eventType: 'POLICY_DELETED', detail: { policyId: id, name: 'office', attachments: 0 } },
    { eventType: 'POLICY_UPDATED', detail: { policyId: id, members: ['name', 'enabled', 'rules'] } },
    { eventType: 'POLICY_UPDATED', detail: { policyId: id, members: ['enabled', 'rules'] } },
    { eventType: 'POLICY_CREATED', detail: { policyId: id, name: 'office' } },
  ]);
});

describe('attachments', () => {
  // spec: A policy attaches to an agent, a proxy, or a token.
  test('a policy is attached, listed and detached, each with an event of its target', async () => {
    const id = await made();
    // Attaching it again changes nothing.
    for (const _ of [1, 2])
      expect(await attachments('POST', id, 'agent', agentId)).toMatchObject({
        status: 201,
        json: { targetType: 'agent', targetId: agentId },
      });
    expect((await attachments('POST', id, 'token', 'github')).status).toBe(201);
    const listed = await service.admin('GET', `/api/policies/${id}/attachments`);
    expect(listed.json).toEqual({
      items: [
        { targetType: 'agent', targetId: agentId, targetName: expect.stringMatching(/^builder/) },
        { targetType: 'token', targetId: 'github' },
      ],
    });
    const ofAgent = await service.admin('GET', `/api/policies?targetType=agent&targetId=${agentId}`);
    expect(ofAgent.json.items).toMatchObject([{ id, attachments: 2 }]);
    const { name } = ofAgent.json.items[0];
    const detail = { policyId: id, name };
    expect(await events()).toMatchObject([
      { eventType: 'POLICY_ATTACHED', serviceName: 'github', detail: { ...detail, targetType: 'token' } },
      { eventType: 'POLICY_ATTACHED', agentId, detail: { ...detail, targetType: 'agent' } },
      ...(await events()).slice(2),
    ]);
    expect((await attachments('DELETE', id, 'agent', agentId)).status).toBe(204);
    expect((await attachments('DELETE', id, 'agent', agentId)).status).toBe(404);
    expect((await events())[0]).toMatchObject({ eventType: 'POLICY_DETACHED', agentId });
    await service.admin('DELETE', `/api/policies/${id}`);
    expect((await events())[0]).toMatchObject({ eventType: 'POLICY_DELETED', detail: { attachments: 1 } });
  });

  test('an unknown target gets the 404 of an unknown policy', async () => {
    const id = await made();
    const unknown = await service.admin('GET', '/api/policies/pol_AAAAAAAAAAAAAAAAAAAAAA');
    const targets = [
      ['agent', 'agt_AAAAAAAAAAAAAAAAAAAAAA'],
      ['proxy', 'prx_AAAAAAAAAAAAAAAAAAAAAA'],
      ['token', 'not-here'],
    ] as const;
    for (const [targetType, targetId] of targets)
      for (const method of ['POST', 'DELETE']) {
        const answer = await attachments(method, id, targetType, targetId);
        expect([targetType, targetId, answer.status, answer.text]).toEqual([
          targetType,
          targetId,
          404,
          unknown.text,
        ]);
      }
    expect((await attachments('POST', 'pol_AAAAAAAAAAAAAAAAAAAAAA', 'agent', agentId)).text).toBe(
      unknown.text,
    );
    for (const [targetType, targetId] of [
      ['agent', 'github'],
      ['proxy', agentId],
      ['token', ''],
      ['token', 'a/b'],
    ] as const)
      for (const method of ['POST', 'DELETE'])
        expect((await attachments(method, id, targetType, targetId)).json).toMatchObject({
          issues: [{ path: 'targetId' }],
        });
    expect((await service.admin('GET', `/api/policies/${id}/attachments`)).json.items).toEqual([]);
  });

  test('a target has at most ten policies', async () => {
    for (let n = 0; n < 10; n++)
      expect((await attachments('POST', await made(), 'agent', agentId)).status).toBe(201);
    const one = await made();
    expect((await attachments('POST', one, 'agent', agentId)).json.code).toBe('CONFLICT');
    expect((await service.admin('GET', `/api/policies/${one}/attachments`)).json.items).toEqual([]);
  });

  test('a proxy gets a policy until it is revoked', async () => {
    const body = {
      name: 'p',
      upstreamUrl: 'https://mcp.example.com/',
      serviceName: 'github',
      allowMissing: true,
    };
    const { id } = (await service.admin('POST', '/api/proxies', { body })).json.proxy;
    const [one, two] = [await made(), await made()];
    const simulated = async () => (await simulate({ proxyId: id, serviceName: 'github' })).json;
    expect((await attachments('POST', one, 'proxy', id)).status).toBe(201);
    expect((await simulated()).rules).toMatchObject([{ policyId: one, targetType: 'proxy' }]);
    await service.admin('POST', `/api/proxies/${id}/revoke`);
    expect((await attachments('POST', two, 'proxy', id)).json.code).toBe('CONFLICT');
    expect((await simulated()).code).toBe('CONFLICT');
  });

  test('deleting an agent detaches its policies, each with an event', async () => {
    const ids = [await made(), await made()].toSorted();
    for (const id of ids) await attachments('POST', id, 'agent', agentId);
    await service.admin('DELETE', `/api/agents/${agentId}`);
    expect((await events()).slice(0, 3)).toMatchObject([
      { eventType: 'AGENT_DELETED' },
      { eventType: 'POLICY_DETACHED', agentId, detail: { policyId: ids[1] } },
      { eventType: 'POLICY_DETACHED', agentId, detail: { policyId: ids[0] } },
    ]);
    for (const id of ids)
      expect((await service.admin('GET', `/api/policies/${id}/attachments`)).json.items).toEqual([]);
    expect((await attachments('POST', ids[0] ?? '', 'agent', agentId)).json.code).toBe('CONFLICT');
  });
});

test('an invalid policy or change is rejected with the path of each issue, and nothing is stored', async () => {
  const id = await made();
  const state = async () => (await service.admin('GET', '/api/policies?limit=100')).text;
  const before = [await state(), await count('/api/audit')];
  const rules = [{ type: 'manual_approval' }];
  for (const [body, path] of [
    [{ rules: [{ type: 'max_usage', limit: 0 }] }, 'rules.0.limit'],
    [{ rules: [{ type: 'manual_approval', approvers: [] }] }, 'rules.0.approvers'],
    [{ rules: [] }, 'rules'],
    [{ rules, name: 'a\nb' }, 'name'],
    [{ rules, priority: 1 }, 'priority'],
  ] as const)
    for (const answer of [
      await create({ name: 'p', ...body }),
      await service.admin('PATCH', `/api/policies/${id}`, { body }),
    ]) {
      expect([answer.status, answer.json.code]).toEqual([422, 'INVALID_ARGUMENT']);
      expect(answer.json.issues.map((issue: { path: string }) => issue.path)).toEqual([path]);
    }
  expect((await create({ rules })).json.issues[0].path).toBe('name');
  expect([await state(), await count('/api/audit')]).toEqual(before);
});

test.each([
  [{ targetType: 'folder', targetId: 'x' }, 'targetType'],
  [{ targetType: 'agent' }, 'targetId'],
  [{ targetType: 'agent', targetId: 'x'.repeat(10_000) }, 'targetId'],
  [{ targetType: 'agent', targetId: 'x', weight: 1 }, 'weight'],
])('the attachment %j is rejected', async (body, path) => {
  const id = await made();
  for (const method of ['POST', 'DELETE']) {
    const answer = await service.admin(method, `/api/policies/${id}/attachments`, { body });
    expect([answer.status, answer.json.issues[0].path]).toEqual([422, path]);
  }
});

test.each(['targetType=agent', 'targetId=x', 'targetType=x&targetId=y'])(
  'the query %s is rejected',
  async (query) => {
    expect((await service.admin('GET', `/api/policies?${query}`)).status).toBe(422);
  },
);

describe('a simulation', () => {
  const ids: Record<string, string> = {};
  const windows = [{ days: [5], start: '12:00', end: '13:00' }];
  beforeEach(async () => {
    const attached = async (name: string, type: string, target: string, ...rules: object[]) => {
      ids[name] = await made(name, rules);
      await attachments('POST', ids[name], type, target);
    };
    await attached(
      'office',
      'agent',
      agentId,
      { type: 'max_usage', limit: 5 },
      { type: 'time_window', timezone: 'UTC', windows },
      { type: 'ip_allowlist', cidrs: ['193.0.0.0/16'] },
    );
    await attached(
      'of the token',
      'token',
      'github',
      { type: 'geo_restrict', mode: 'allow', countries: ['NL'] },
      { type: 'max_usage', limit: 2 },
      { type: 'rate_limit', limit: 1, windowSeconds: 60 },
    );
    await attached('switched off', 'agent', agentId, { type: 'manual_approval' });
    await service.admin('PATCH', `/api/policies/${ids['switched off']}`, { body: { enabled: false } });
  });
  afterEach(() => service.admin('DELETE', `/api/policies/${ids['of the token']}`));

  const part = (policy: string, targetType: string, position: number, settings: object, more = {}) => ({
    policyId: ids[policy],
    policy,
    targetType,
    rule: (settings as { type: string }).type,
    position,
    settings,
    allowed: true,
    ...more,
  });

  test("a simulation shows the decision and each rule's part in the order of evaluation, and counts nothing", async () => {
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
          part('office', 'agent', 1, { type: 'time_window', timezone: 'UTC', windows }),
          part('office', 'agent', 2, { type: 'ip_allowlist', cidrs: ['193.0.0.0/16'] }),
          part('of the token', 'token', 0, { type: 'geo_restrict', mode: 'allow', countries: ['NL'] }),
          part('office', 'agent', 0, { type: 'max_usage', limit: 5 }, { used: 0 }),
          part('of the token', 'token', 1, { type: 'max_usage', limit: 2 }, { used: 0 }),
          part('of the token', 'token', 2, { type: 'rate_limit', limit: 1, windowSeconds: 60 }),
        ],
      });
    }
  });

  test('a simulation without a time is at the present, and one without an address has none', async () => {
    const { json } = await simulate({ agentId, serviceName: 'other' });
    expect(json).toMatchObject({
      decision: 'denied',
      denial: { policy: 'office', rule: 'ip_allowlist', reason: expect.stringMatching(/\w/) },
      at: new Date(service.clock.now()).toISOString(),
      ip: null,
      country: null,
    });
    expect(json.rules).toHaveLength(3);
  });

  test('a simulation for an unknown agent or proxy gets 404, for a deleted agent CONFLICT', async () => {
    const serviceName = 'github';
    const foreign = await service.admin('GET', `/api/agents/${newId('agt')}`);
    for (const who of [{ agentId: newId('agt') }, { proxyId: newId('prx') }]) {
      const answer = await simulate({ ...who, serviceName });
      expect([answer.status, answer.text]).toEqual([404, foreign.text]);
    }
    const { id } = (await service.admin('POST', '/api/agents', { body: { name: 'gone' } })).json.agent;
    await service.admin('DELETE', `/api/agents/${id}`);
    expect((await simulate({ agentId: id, serviceName })).json.code).toBe('CONFLICT');
  });

  test.each([
    [{}, 'agentId'],
    [{ agentId: newId('agt'), proxyId: newId('prx') }, 'agentId'],
    [{ agentId: 'x' }, 'agentId'],
    [{ proxyId: newId('agt') }, 'proxyId'],
    [{ agentId: newId('agt'), serviceName: 'a/b' }, 'serviceName'],
    [{ agentId: newId('agt'), at: 'tomorrow' }, 'at'],
    [{ agentId: newId('agt'), ip: '127.1' }, 'ip'],
    [{ agentId: newId('agt'), ip: 'localhost' }, 'ip'],
    [{ agentId: newId('agt'), grantId: 'g' }, 'grantId'],
  ])('the simulation %j is rejected', async (body, path) => {
    const answer = await simulate({ serviceName: 'github', ...body });
    expect([answer.status, answer.json.issues[0].path]).toEqual([422, path]);
  });
});
