import { describe, expect, test } from 'vitest';
import { isWellFormedKey } from '@svault/shared';
import { useService } from '../support/use-service.ts';
import { uniqueName } from '../support/unique-name.ts';

const service = useService();

const create = async (body: object = { name: uniqueName('builder') }) => {
  const answer = await service.admin('POST', '/api/agents', { body });
  expect(answer.status).toBe(201);
  return answer.json as { agent: { id: string; status: string; keyPrefix: string }; apiKey: string };
};

describe('specification, states: Agent', () => {
  // spec: Agent | (new) | create agent | a name is supplied | active | An API key is generated and shown once.
  test('(new) → create agent with a name → active; a key is generated and shown once', async () => {
    const { agent, apiKey } = await create({ name: 'builder', description: 'Builds things' });
    expect(agent).toMatchObject({
      name: 'builder',
      description: 'Builds things',
      status: 'active',
      mcpEnabled: false,
      createdAt: '2026-11-20T12:00:00.000Z',
      lastUsedAt: null,
    });
    expect(agent).not.toHaveProperty('vaultId');
    expect(isWellFormedKey('svagent', apiKey)).toBe(true);
    expect(apiKey.startsWith(agent.keyPrefix.slice(0, -1))).toBe(true);
    const read = await service.admin('GET', `/api/agents/${agent.id}`);
    expect(read.json).toEqual({ ...agent, policies: [] });
    expect(read.text).not.toContain(apiKey);
  });

  test('(new) → create agent without a name → refused', async () => {
    const answer = await service.admin('POST', '/api/agents', { body: {} });
    expect(answer.status).toBe(422);
    expect(answer.json).toMatchObject({ code: 'INVALID_ARGUMENT', issues: [{ path: 'name' }] });
  });

  test('active → suspend → suspended → resume → active; a repeat changes nothing', async () => {
    const { agent } = await create();
    for (const [verb, status] of [
      ['suspend', 'suspended'],
      ['resume', 'active'],
    ] as const)
      for (const _ of [1, 2]) {
        const answer = await service.admin('POST', `/api/agents/${agent.id}/${verb}`);
        expect([answer.status, answer.json.status]).toEqual([200, status]);
      }
  });

  // spec: Agent | active or suspended | delete | none stated | deleted | Requests get 403 AGENT_INACTIVE.
  test.each(['active', 'suspended'])('%s → delete → deleted, for good', async (before) => {
    const { agent } = await create();
    const path = `/api/agents/${agent.id}`;
    if (before === 'suspended') await service.admin('POST', `${path}/suspend`);
    expect((await service.admin('DELETE', path)).status).toBe(204);
    expect((await service.admin('DELETE', path)).status).toBe(204);
    expect((await service.admin('GET', path)).json.status).toBe('deleted');
    for (const action of ['suspend', 'resume', 'reveal-key', 'rotate-key']) {
      const answer = await service.admin('POST', `${path}/${action}`);
      expect([answer.status, answer.json.code]).toEqual([409, 'CONFLICT']);
    }
    const patch = await service.admin('PATCH', path, { body: { name: 'again' } });
    expect(patch.status).toBe(409);
  });
});

describe('the name of an agent', () => {
  const status = async (name: string): Promise<number> =>
    (await service.admin('POST', '/api/agents', { body: { name } })).status;

  test('is another agent’s in no letter case, compatibility form, white space or invisible character', async () => {
    const { agent } = await create({ name: 'Nightly build' });
    const answer = await service.admin('POST', '/api/agents', { body: { name: 'nightly\u00a0BUILD' } });
    expect([answer.status, answer.json]).toEqual([
      409,
      {
        error: `There is an agent \`Nightly build\` (${agent.id}) already. Choose another name, or use that one: \`svault agents show ${agent.id}\`.`,
        code: 'CONFLICT',
      },
    ]);
    for (const name of ['Night\u200bly build', '\uff2eightly build', 'Nightly  build'])
      expect([name, await status(name)]).toEqual([name, 409]);
    expect(await status('Nightly build 2')).toBe(201);
  });

  test('is of one agent, where twenty ask for it at once', async () => {
    const statuses = await Promise.all(Array.from({ length: 20 }, () => status('raced')));
    expect(statuses.toSorted((a, b) => a - b)).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
  });

  test('may be kept and respelled by a change, but not taken; a deleted agent’s is free', async () => {
    const [one, other] = [await create({ name: 'one' }), await create({ name: 'another' })];
    const rename = async (id: string, name: string): Promise<number> =>
      (await service.admin('PATCH', `/api/agents/${id}`, { body: { name } })).status;
    expect(await rename(one.agent.id, 'One')).toBe(200);
    expect(await rename(other.agent.id, 'ONE')).toBe(409);
    await service.admin('DELETE', `/api/agents/${one.agent.id}`);
    expect(await rename(other.agent.id, 'one')).toBe(200);
  });

  test.each(['\u200b', 'agt_AAAAAAAAAAAAAAAAAAAAAA'])('is not %j', async (name) => {
    expect(await status(name)).toBe(422);
  });

  test('is as long as its bound says, also where it is longer in its compatibility form', async () => {
    expect(await status('\ufdfa'.repeat(100))).toBe(201);
  });
});

describe('agent keys', () => {
  test('POST /api/agents/{id}/reveal-key returns the key from creation', async () => {
    const { agent, apiKey } = await create();
    const answer = await service.admin('POST', `/api/agents/${agent.id}/reveal-key`);
    expect([answer.status, answer.json]).toEqual([200, { apiKey }]);
  });

  test('rotating a key returns another one, which is revealed from then on', async () => {
    const { agent, apiKey } = await create();
    const rotated = await service.admin('POST', `/api/agents/${agent.id}/rotate-key`);
    expect(rotated.status).toBe(200);
    expect(rotated.json.apiKey).not.toBe(apiKey);
    expect(apiKey.startsWith(rotated.json.agent.keyPrefix.slice(0, -1))).toBe(false);
    const revealed = await service.admin('POST', `/api/agents/${agent.id}/reveal-key`);
    expect(revealed.json.apiKey).toBe(rotated.json.apiKey);
  });
});

describe('changing and listing', () => {
  test('PATCH /api/agents/{id} changes the named members only', async () => {
    const thumbprint = 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs';
    const { agent } = await create({ name: 'before', description: 'kept', sealingKeyThumbprint: thumbprint });
    const path = `/api/agents/${agent.id}`;
    const changed = await service.admin('PATCH', path, { body: { name: 'after', mcpEnabled: true } });
    expect(changed.json).toMatchObject({
      name: 'after',
      description: 'kept',
      mcpEnabled: true,
      sealingKeyThumbprint: thumbprint,
    });
    const taken = await service.admin('PATCH', path, { body: { sealingKeyThumbprint: null } });
    expect(taken.json).not.toHaveProperty('sealingKeyThumbprint');
  });

  test('GET /api/agents/{id} shows the policies that are attached to the agent, with the types of their rules', async () => {
    const { agent } = await create({ name: 'guarded' });
    const attach = async (name: string, enabled: boolean, types: readonly object[]) => {
      service.clock.advance(1);
      const { id } = (await service.admin('POST', '/api/policies', { body: { name, enabled, rules: types } }))
        .json;
      const body = { targetType: 'agent', targetId: agent.id };
      await service.admin('POST', `/api/policies/${id}/attachments`, { body });
      return id as string;
    };
    const cap = { type: 'max_usage', limit: 3 };
    const first = await attach('office hours', true, [{ type: 'ip_allowlist', cidrs: ['10.0.0.0/8'] }, cap]);
    const second = await attach('paused', false, [{ type: 'manual_approval' }]);
    const { policies } = (await service.admin('GET', `/api/agents/${agent.id}`)).json;
    expect(policies).toEqual([
      { id: first, name: 'office hours', enabled: true, ruleTypes: ['ip_allowlist', 'max_usage'] },
      { id: second, name: 'paused', enabled: false, ruleTypes: ['manual_approval'] },
    ]);
  });

  test('GET /api/agents lists deleted agents only by status=deleted', async () => {
    const { agent } = await create();
    await service.admin('DELETE', `/api/agents/${agent.id}`);
    const listed = async (query: string) =>
      (await service.admin('GET', `/api/agents?limit=100${query}`)).text;
    expect(await listed('')).not.toContain(agent.id);
    expect(await listed('&status=deleted')).toContain(agent.id);
  });
});
