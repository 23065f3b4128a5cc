import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import type { Answer } from '../support/management-service.ts';

let service: LinkedService;
let agentId: string;
beforeAll(async () => {
  service = await startLinkedService();
  await service.bind();
  await service.admin('POST', '/api/tokens', { body: { serviceName: 'github', tokenType: 'PlainText' } });
});
afterAll(() => service.stop());
beforeEach(async () => {
  agentId = (await service.admin('POST', '/api/agents', { body: { name: 'builder' } })).json.agent.id;
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
const made = async (...rules: object[]): Promise<string> =>
  (await create({ name: 'p', rules: rules.length === 0 ? [{ type: 'manual_approval' }] : rules })).json.id;
const attachments = (method: string, id: string, targetType: string, targetId: string): Promise<Answer> =>
  service.admin(method, `/api/policies/${id}/attachments`, { body: { targetType, targetId } });
const events = async (): Promise<readonly { eventType: string; detail: Record<string, unknown> }[]> =>
  (await service.admin('GET', '/api/audit?limit=100')).json.items;
const count = async (path: string): Promise<number> =>
  (await service.admin('GET', `${path}?limit=100`)).json.items.length;

describe('a policy', () => {
  // spec: A policy has a name and one or more rules.
  // spec: Rule types: time_window, ip_allowlist, geo_restrict, rate_limit, max_usage (lifetime usage cap), manual_approval.
  test('a policy is created, read, changed and deleted, each with an event', async () => {
    const answer = await create({ name: 'office', enabled: false, rules: RULES });
    expect(answer.status).toBe(201);
    expect(answer.json).toEqual({
      id: expect.stringMatching(/^pol_[\w-]{22}$/),
      name: 'office',
      enabled: false,
      rules: RULES,
      createdAt: '2026-11-20T12:00:00.000Z',
      updatedAt: '2026-11-20T12:00:00.000Z',
    });
    const path = `/api/policies/${answer.json.id}`;
    expect((await service.admin('GET', path)).json).toEqual(answer.json);
    expect((await service.admin('GET', '/api/policies')).json.items).toContainEqual(answer.json);

    service.clock.advance(1_000);
    const changed = await service.admin('PATCH', path, { body: { enabled: true, rules: [RULES[5]] } });
    expect(changed).toMatchObject({ status: 200 });
    expect(changed.json).toEqual({
      ...answer.json,
      enabled: true,
      rules: [RULES[5]],
      updatedAt: '2026-11-20T12:00:01.000Z',
    });
    // A policy that was read can be sent back.
    const { name, enabled, rules } = changed.json;
    expect((await service.admin('PATCH', path, { body: { name, enabled, rules } })).json.rules).toEqual(
      rules,
    );

    expect((await service.admin('DELETE', path)).status).toBe(204);
    for (const method of ['GET', 'PATCH', 'DELETE'])
      expect((await service.admin(method, path, method === 'PATCH' ? { body: {} } : {})).status).toBe(404);
    const { id } = answer.json;
    expect((await events()).slice(0, 4)).toMatchObject([
      { eventType: 'POLICY_DELETED', detail: { policyId: id, name: 'office', attachments: 0 } },
      { eventType: 'POLICY_UPDATED', detail: { policyId: id, members: ['name', 'enabled', 'rules'] } },
      { eventType: 'POLICY_UPDATED', detail: { policyId: id, members: ['enabled', 'rules'] } },
      { eventType: 'POLICY_CREATED', detail: { policyId: id, name: 'office' } },
    ]);
  });

  test('a policy is enabled by default', async () => {
    expect((await create({ name: 'p', rules: [{ type: 'manual_approval' }] })).json.enabled).toBe(true);
  });

  test('GET /api/policies lists in pages', async () => {
    for (let n = 0; n < 3; n++) await made();
    const all = (await service.admin('GET', '/api/policies?limit=100')).json.items as { id: string }[];
    const seen: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const after: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const page = (await service.admin('GET', `/api/policies?limit=2${after}`)).json;
      seen.push(...page.items.map(({ id }: { id: string }) => id));
      cursor = page.nextCursor as string | undefined;
    }
    expect(seen).toEqual(all.map(({ id }) => id));
  });

  test('an empty PATCH writes no event', async () => {
    const id = await made();
    const before = await count('/api/audit');
    expect((await service.admin('PATCH', `/api/policies/${id}`, { body: {} })).status).toBe(200);
    expect(await count('/api/audit')).toBe(before);
  });
});

describe('attachments', () => {
  // spec: A policy attaches to an agent, a proxy, or a token.
  test('a policy is attached, listed and detached, each with an event of its target', async () => {
    const id = await made();
    expect(await attachments('POST', id, 'agent', agentId)).toMatchObject({
      status: 201,
      json: { targetType: 'agent', targetId: agentId },
    });
    expect((await attachments('POST', id, 'token', 'github')).status).toBe(201);
    const listed = await service.admin('GET', `/api/policies/${id}/attachments`);
    expect(listed.json).toEqual({
      items: [
        { targetType: 'agent', targetId: agentId },
        { targetType: 'token', targetId: 'github' },
      ],
    });
    const ofAgent = await service.admin('GET', `/api/policies?targetType=agent&targetId=${agentId}`);
    expect(ofAgent.json.items.map((policy: { id: string }) => policy.id)).toEqual([id]);
    expect(await events()).toMatchObject([
      { eventType: 'POLICY_ATTACHED', serviceName: 'github', detail: { policyId: id, targetType: 'token' } },
      { eventType: 'POLICY_ATTACHED', agentId, detail: { policyId: id, targetType: 'agent' } },
      ...(await events()).slice(2),
    ]);
    expect((await attachments('DELETE', id, 'agent', agentId)).status).toBe(204);
    expect((await attachments('DELETE', id, 'agent', agentId)).status).toBe(404);
    expect((await events())[0]).toMatchObject({ eventType: 'POLICY_DETACHED', agentId });
    await service.admin('DELETE', `/api/policies/${id}`);
    expect((await events())[0]).toMatchObject({ eventType: 'POLICY_DELETED', detail: { attachments: 1 } });
  });

  test('attaching or detaching twice changes nothing', async () => {
    const id = await made();
    await attachments('POST', id, 'agent', agentId);
    const before = await count('/api/audit');
    expect((await attachments('POST', id, 'agent', agentId)).status).toBe(201);
    expect(await count('/api/audit')).toBe(before);
    expect((await service.admin('GET', `/api/policies/${id}/attachments`)).json.items).toHaveLength(1);
  });

  test('an unknown target gets the 404 of an unknown policy', async () => {
    const id = await made();
    const unknown = await service.admin('GET', '/api/policies/pol_AAAAAAAAAAAAAAAAAAAAAA');
    const targets = [
      ['agent', 'agt_AAAAAAAAAAAAAAAAAAAAAA'],
      ['agent', 'github'],
      ['proxy', 'prx_AAAAAAAAAAAAAAAAAAAAAA'],
      ['proxy', agentId],
      ['token', 'not-here'],
      ['token', ''],
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
    expect((await attachments('POST', 'pol_x', 'agent', agentId)).text).toBe(unknown.text);
    expect((await service.admin('GET', `/api/policies/${id}/attachments`)).json.items).toEqual([]);
  });

  test('a target has at most ten policies', async () => {
    for (let n = 0; n < 10; n++)
      expect((await attachments('POST', await made(), 'agent', agentId)).status).toBe(201);
    const one = await made();
    expect((await attachments('POST', one, 'agent', agentId)).json.code).toBe('CONFLICT');
    expect((await service.admin('GET', `/api/policies/${one}/attachments`)).json.items).toEqual([]);
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

  test('deleting a token detaches its policies', async () => {
    const token = { serviceName: 'gone', tokenType: 'PlainText' };
    await service.admin('POST', '/api/tokens', { body: token });
    const id = await made();
    await attachments('POST', id, 'token', 'gone');
    await service.admin('DELETE', '/api/tokens/gone');
    expect((await events()).map(({ eventType }) => eventType).slice(0, 3)).toContain('POLICY_DETACHED');
    expect((await service.admin('GET', `/api/policies/${id}/attachments`)).json.items).toEqual([]);
  });
});

describe('invalid policies are rejected with the path of each issue, and nothing is stored', () => {
  const window = { days: [1], start: '08:00', end: '18:00' };
  const time = (changes: object) => ({
    type: 'time_window',
    timezone: 'UTC',
    windows: [{ ...window, ...changes }],
  });
  const manyCidrs = Array.from({ length: 10_000 }, (_, n) => `10.${n >> 8}.${n & 255}.0/24`);
  const manyWindows = Array.from({ length: 51 }, () => window);
  const fullLists = { type: 'ip_allowlist', cidrs: manyCidrs.slice(0, 100) };

  const cases: readonly (readonly [string, object, string])[] = [
    [
      'an unknown zone',
      { type: 'time_window', timezone: 'Mars/Olympus', windows: [window] },
      'rules.0.timezone',
    ],
    [
      'an offset for a zone',
      { type: 'time_window', timezone: '+01:00', windows: [window] },
      'rules.0.timezone',
    ],
    ['an end equal to its start', time({ end: '08:00' }), 'rules.0.windows.0.end'],
    ['an hour that is none', time({ end: '24:00' }), 'rules.0.windows.0.end'],
    ['a time without a zero', time({ start: '8:00' }), 'rules.0.windows.0.start'],
    ['a day that is none', time({ days: [0] }), 'rules.0.windows.0.days.0'],
    ['an eighth day', time({ days: [8] }), 'rules.0.windows.0.days.0'],
    ['half a day', time({ days: [1.5] }), 'rules.0.windows.0.days.0'],
    ['a day twice', time({ days: [1, 2, 1] }), 'rules.0.windows.0.days'],
    ['no days', time({ days: [] }), 'rules.0.windows.0.days'],
    ['no windows', { type: 'time_window', timezone: 'UTC', windows: [] }, 'rules.0.windows'],
    ['too many windows', { type: 'time_window', timezone: 'UTC', windows: manyWindows }, 'rules.0.windows'],
    ['an unknown member of a window', time({ until: '19:00' }), 'rules.0.windows.0.until'],
    [
      'a CIDR that is none',
      { type: 'ip_allowlist', cidrs: ['10.0.0.0/8', '10.0.0.0/33'] },
      'rules.0.cidrs.1',
    ],
    ['a name for a CIDR', { type: 'ip_allowlist', cidrs: ['localhost'] }, 'rules.0.cidrs.0'],
    ['bits beyond the prefix', { type: 'ip_allowlist', cidrs: ['10.1.2.3/8'] }, 'rules.0.cidrs.0'],
    ['a short form', { type: 'ip_allowlist', cidrs: ['127.1'] }, 'rules.0.cidrs.0'],
    ['10,000 CIDRs', { type: 'ip_allowlist', cidrs: manyCidrs }, 'rules.0.cidrs'],
    ['no CIDRs', { type: 'ip_allowlist', cidrs: [] }, 'rules.0.cidrs'],
    [
      'a country that is none',
      { type: 'geo_restrict', mode: 'allow', countries: ['DE', 'XX'] },
      'rules.0.countries.1',
    ],
    [
      'a country in lower case',
      { type: 'geo_restrict', mode: 'allow', countries: ['de'] },
      'rules.0.countries.0',
    ],
    ['a mode that is none', { type: 'geo_restrict', mode: 'block', countries: ['DE'] }, 'rules.0.mode'],
    ['no countries', { type: 'geo_restrict', mode: 'deny', countries: [] }, 'rules.0.countries'],
    ['a rate of 0', { type: 'rate_limit', limit: 0, windowSeconds: 60 }, 'rules.0.limit'],
    ['a window of 0 s', { type: 'rate_limit', limit: 1, windowSeconds: 0 }, 'rules.0.windowSeconds'],
    ['a rate without a window', { type: 'rate_limit', limit: 1 }, 'rules.0.windowSeconds'],
    ['a cap of 0', { type: 'max_usage', limit: 0 }, 'rules.0.limit'],
    ['a cap below 0', { type: 'max_usage', limit: -1 }, 'rules.0.limit'],
    ['a cap as text', { type: 'max_usage', limit: '5' }, 'rules.0.limit'],
    ['a cap beyond all counting', { type: 'max_usage', limit: 1e12 }, 'rules.0.limit'],
    ['settings of an approval', { type: 'manual_approval', approvers: [] }, 'rules.0.approvers'],
    ['an unknown type', { type: 'device_posture' }, 'rules.0.type'],
    ['no type', {}, 'rules.0.type'],
    ['a type from Object.prototype', { type: 'constructor' }, 'rules.0.type'],
    ['an id of its own', { id: 'rul_AAAAAAAAAAAAAAAAAAAAAA', type: 'manual_approval' }, 'rules.0.id'],
  ];
  test.each(cases)('%s', async (_what, rule, path) => {
    const [policies, log] = [await count('/api/policies'), await count('/api/audit')];
    const answer = await create({ name: 'p', rules: [rule] });
    expect([answer.status, answer.json.code]).toEqual([422, 'INVALID_ARGUMENT']);
    expect(answer.json.issues.map((issue: { path: string }) => issue.path)).toContain(path);
    expect([await count('/api/policies'), await count('/api/audit')]).toEqual([policies, log]);
  });

  test.each([
    ['no rules', { name: 'p', rules: [] }, 'rules'],
    [
      '21 rules',
      { name: 'p', rules: Array.from({ length: 21 }, () => ({ type: 'manual_approval' })) },
      'rules',
    ],
    [
      'rules that are too long together',
      { name: 'p', rules: Array.from({ length: 20 }, () => fullLists) },
      'rules',
    ],
    [
      '201 networks, of which no rule has more than 100',
      {
        name: 'p',
        rules: [fullLists, fullLists, { type: 'ip_allowlist', cidrs: ['192.0.2.1'] }],
      },
      'rules',
    ],
    ['no name', { rules: [{ type: 'manual_approval' }] }, 'name'],
    ['a name of two lines', { name: 'a\nb', rules: [{ type: 'manual_approval' }] }, 'name'],
    ['an unknown member', { name: 'p', rules: [{ type: 'manual_approval' }], priority: 1 }, 'priority'],
  ])('%s', async (_what, body, path) => {
    const answer = await create(body);
    expect([answer.status, answer.json.issues[0].path]).toEqual([422, path]);
  });

  test('an invalid change leaves the policy as it was', async () => {
    const id = await made();
    const before = await service.admin('GET', `/api/policies/${id}`);
    const answer = await service.admin('PATCH', `/api/policies/${id}`, {
      body: { rules: [time({ days: [9] })] },
    });
    expect([answer.status, answer.json.issues[0].path]).toEqual([422, 'rules.0.windows.0.days.0']);
    expect((await service.admin('GET', `/api/policies/${id}`)).text).toBe(before.text);
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
});

test('while the vault is locked every change gets 423, and lists and simulations answer', async () => {
  const id = await made();
  await attachments('POST', id, 'agent', agentId);
  await service.admin('POST', '/api/vault/lock');
  const target = { targetType: 'agent', targetId: agentId };
  const changes = [
    ['POST', '/api/policies', { name: 'p', rules: [{ type: 'manual_approval' }] }],
    ['PATCH', `/api/policies/${id}`, { enabled: false }],
    ['DELETE', `/api/policies/${id}`, undefined],
    ['POST', `/api/policies/${id}/attachments`, target],
    ['DELETE', `/api/policies/${id}/attachments`, target],
  ] as const;
  for (const [method, path, body] of changes)
    expect([method, path, (await service.admin(method, path, { body })).status]).toEqual([method, path, 423]);
  expect((await service.admin('GET', `/api/policies/${id}`)).json.enabled).toBe(true);
  const simulated = await service.admin('POST', '/api/policies/simulate', {
    body: { agentId, serviceName: 'github' },
  });
  expect(simulated.json.decision).toBe('denied');
  await service.admin('POST', '/api/vault/unlock');
});
