import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Answer, clientOf } from '../support/management-service.ts';
import { ERAS, mcpAgentOn, mcpClientOf } from '../support/mcp-steps.ts';
import { pathFor, storeOn } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';

// Agents that ask for grants, where the account lets them.

let service: PairedService;
const REQUESTS = '/api/agents/access-requests';
let agent: { readonly id: string; readonly apiKey: string };

const allow = (accessRequests: boolean): Promise<Answer> =>
  service.admin('PATCH', '/api/vault', { body: { accessRequests } });
const agentCall = (method: string, path: string, body?: object): Promise<Answer> =>
  clientOf(service.pair.controlPlaneUrl(), { authorization: `Bearer ${agent.apiKey}` })(
    method,
    path,
    body && { body },
  );
const ask = (body: object): Promise<Answer> => agentCall('POST', REQUESTS, body);
const approve = (id: string, body?: object): Promise<Answer> =>
  service.admin('POST', `/api/approvals/${id}/approve`, body && { body });

beforeAll(async () => {
  service = await startPairedService();
  await storeOn(service.pair, 'github', { tokenType: 'PlainText', value: 'v' });
});
afterAll(() => service.stop());
beforeEach(async () => {
  service.clock.advance(3_600_000);
  agent = await mcpAgentOn(service);
  await allow(true);
});

test('agents cannot ask for grants unless an admin lets them', async () => {
  await allow(false);
  expect((await service.admin('GET', '/api/vault')).json.accessRequests).toBe(false);
  const { status, json } = await ask({ service: 'github' });
  expect([status, json.code]).toEqual([403, 'FORBIDDEN']);
  await allow(true);
  expect((await ask({ service: 'github' })).status).toBe(202);
});

describe('a request for a grant', () => {
  test('becomes the grant with the terms of its approver', async () => {
    const { status, json } = await ask({ service: 'github', reason: 'to read issues' });
    expect(status).toBe(202);
    const { id, url } = json.approval;
    expect(new URL(url).pathname).toBe(`/approvals/${id}`);
    const read = (await service.admin('GET', `/api/approvals/${id}`)).json;
    expect(read).toMatchObject({
      kind: 'access',
      status: 'pending',
      agentId: agent.id,
      reason: 'to read issues',
    });
    const approved = await approve(id, { expiresInSeconds: 7_200, refreshPolicy: 'auto' });
    expect([approved.status, approved.json.status]).toEqual([200, 'approved']);
    const { items } = (await service.admin('GET', `/api/agents/${agent.id}/grants`)).json;
    expect(items).toMatchObject([{ serviceName: 'github', refreshPolicy: 'auto', status: 'active' }]);
    expect(items[0].grantExpiresAt).not.toBeNull();
    expect((await ask({ service: 'github' })).json).toEqual({ granted: true });
    expect((await agentCall('GET', `/api/agents/approvals/${id}`)).json.status).toBe('approved');
  });

  test('is one, however often it is asked, for a day', async () => {
    const first = (await ask({ service: 'github' })).json.approval;
    expect((await ask({ service: 'github', reason: 'please' })).json.approval).toEqual(first);
    service.clock.advance(24 * 3_600_000);
    expect((await ask({ service: 'github' })).json.approval.id).not.toBe(first.id);
  });

  test('makes no grant where it is denied, and stays denied for ten minutes', async () => {
    const { id } = (await ask({ service: 'github' })).json.approval;
    await service.admin('POST', `/api/approvals/${id}/deny`);
    expect((await ask({ service: 'github' })).json.approval).toMatchObject({ id, status: 'denied' });
    expect((await service.admin('GET', `/api/agents/${agent.id}/grants`)).json.items).toEqual([]);
  });

  test('makes neither a grant nor a decision where its terms are not those of a grant', async () => {
    const { id } = (await ask({ service: 'github' })).json.approval;
    expect((await approve(id, { grantExpiresAt: '2020-01-01T00:00:00.000Z' })).status).toBe(422);
    expect((await service.admin('GET', `/api/approvals/${id}`)).json.status).toBe('pending');
    expect((await service.admin('GET', `/api/agents/${agent.id}/grants`)).json.items).toEqual([]);
  });

  test('does not tell whether there is such a credential, and is refused to its approver', async () => {
    const answer = await ask({ service: 'no-such-thing' });
    expect(answer.status).toBe(202);
    const approved = await approve(answer.json.approval.id);
    expect([approved.status, approved.json.code]).toEqual([422, 'INVALID_ARGUMENT']);
  });

  test('can be made anew once the grant that it became was revoked', async () => {
    const { id } = (await ask({ service: 'github' })).json.approval;
    await approve(id);
    await service.admin('DELETE', `/api/agents/${agent.id}/grants/github`);
    service.clock.advance(1_000);
    const again = await ask({ service: 'github' });
    expect(again.json.approval).toMatchObject({ status: 'pending' });
    expect(again.json.approval.id).not.toBe(id);
  });

  test('that became a grant is not taken back by a denial', async () => {
    const { id } = (await ask({ service: 'github' })).json.approval;
    await approve(id);
    expect((await service.admin('POST', `/api/approvals/${id}/deny`)).json.code).toBe('CONFLICT');
  });

  test('counts as a request without a grant', async () => {
    const answers: number[] = [];
    for (let n = 0; n < 25; n++) answers.push((await ask({ service: `s${n}` })).status);
    expect(answers.filter((status) => status === 202).length).toBeLessThanOrEqual(20);
    const missed = await agentCall('GET', pathFor('github'));
    expect([missed.status, missed.json.code]).toEqual([429, 'RATE_LIMITED']);
  });

  test('is not understood with other members', async () => {
    for (const body of [{}, { service: 1 }, { service: 'a', reason: '' }, { service: 'a', wait: 1 }])
      expect((await ask(body)).status).toBe(422);
    expect((await ask({ service: 'a/b' })).json.code).toBe('INVALID_SERVICE');
    const anyone = await service.anyone('POST', REQUESTS, { body: { service: 'github' } });
    expect(anyone.json.code).toBe('MISSING_KEY');
  });

  test('is no approval of the credential by policy', async () => {
    const { id } = (await ask({ service: 'github' })).json.approval;
    const { json } = await service.admin('POST', '/api/policies', {
      body: { name: 'p', rules: [{ type: 'manual_approval' }] },
    });
    const target = { targetType: 'agent', targetId: agent.id };
    await service.admin('POST', `/api/policies/${json.id}/attachments`, { body: target });
    await approve(id);
    const answer = await agentCall('GET', pathFor('github'));
    expect(answer.json).toMatchObject({ code: 'POLICY_DENIED', approval: { status: 'pending' } });
    expect(answer.json.approval.id).not.toBe(id);
  });
});

describe('the tool request_access', () => {
  test.each(ERAS)('is there only where agents may ask (%s)', async (era) => {
    const client = mcpClientOf(service, agent.apiKey);
    const names = async (): Promise<string[]> =>
      (await client.request(era, 'tools/list')).json.result.tools.map(({ name }: { name: string }) => name);
    expect(await names()).toContain('request_access');
    const asked = await client.call(era, 'request_access', { service: 'github', reason: 'x' });
    expect(asked.content).toMatchObject({
      serviceName: 'github',
      granted: false,
      approval: { status: 'pending' },
    });
    expect(asked.text).toContain(asked.content.approval.url);
    await allow(false);
    expect(await names()).not.toContain('request_access');
    const refused = await client.call(era, 'request_access', { service: 'github' });
    expect(refused.answer.json.error).toMatchObject({ code: -32_602 });
  });
});
