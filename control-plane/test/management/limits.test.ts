import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';

let service: LinkedService;
beforeAll(async () => {
  service = await startLinkedService({ SV_LIMIT_MAX_POLICIES: '1' });
});
afterAll(() => service.stop());

const limits = async (query = '') => (await service.admin('GET', `/api/limits${query}`)).json;

test('GET /api/limits says how much of its limits the account uses, and an agent and a proxy that it names', async () => {
  await service.bind();
  const agent = await service.agent('github');
  for (let times = 0; times < 3; times++) await agent.get('npm');
  await service.admin('POST', `/api/agents/${agent.id}/reveal-key`);
  await service.admin('POST', '/api/policies', { body: { name: 'p', rules: [{ type: 'manual_approval' }] } });
  const counter = (scope: string, limit: number, windowSeconds: number, used: number) => {
    const resetsInSeconds = used === 0 ? 0 : windowSeconds;
    return { scope, limit, windowSeconds, used, resetsInSeconds };
  };
  const { counters, quotas } = await limits(`?callerId=${agent.id}`);
  expect(counters).toEqual([
    counter('user_aggregate', 600, 60, 3),
    counter('account_export', 5, 3_600, 0),
    counter('setup_step', 30, 86_400, 0),
    counter('agent_credentials', 60, 60, 3),
    counter('agent_no_grant', 10, 60, 3),
    counter('mcp_handshake', 120, 60, 0),
    counter('credential_history', 20, 60, 0),
    counter('key_reveal', 20, 3_600, 1),
  ]);
  expect(quotas).toContainEqual({ scope: 'max_agents', limit: 10_000, used: 1 });
  expect(quotas).toContainEqual({ scope: 'max_policies', limit: 1, used: 1 });

  expect((await limits()).counters.map(({ scope }: { scope: string }) => scope)).toEqual([
    'user_aggregate',
    'account_export',
    'setup_step',
  ]);
  const other = await service.agent();
  const unused = (await limits(`?callerId=${other.id}`)).counters.slice(3);
  expect(unused.map(({ used }: { used: number }) => used)).toEqual([0, 0, 0, 0, 0]);
});

test('GET /api/limits rejects what is no id of an agent or a proxy', async () => {
  for (const callerId of ['', 'ci', 'usr_00000000000000000000000000', 'agt_x']) {
    const { status, json } = await service.admin('GET', `/api/limits?callerId=${callerId}`);
    expect([callerId, status, json.code]).toEqual([callerId, 422, 'INVALID_ARGUMENT']);
  }
});
