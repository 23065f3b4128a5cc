import { type TestApprover, enrolApprover } from '@svault/test-kit/approver';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ENVELOPE, ERAS, type McpClient, mcpAgentOn, mcpClientOf } from '../../support/mcp-steps.ts';
import { storeOn } from '../../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../../support/paired-service.ts';
import { POLICY_SETTINGS, policySteps } from '../../support/policy-calls.ts';

// What MCP clients learn of approvals that a call needs.

let service: PairedService;
let approver: TestApprover;
let agent: { readonly id: string; readonly apiKey: string };
let client: McpClient;
const { make, attach } = policySteps(() => service.pair);

beforeAll(async () => {
  service = await startPairedService({ env: POLICY_SETTINGS });
  approver = await enrolApprover(service.pair);
  const approval = { by: 'passkey', for: ['credential'] };
  await storeOn(service.pair, 'sealed', { tokenType: 'PlainText', value: 'v', approval });
  await storeOn(service.pair, 'github', { tokenType: 'PlainText', value: 'v' });
  await service.admin('GET', '/api/tokens/sealed');
});
afterAll(() => service.stop());
beforeEach(async () => {
  service.clock.advance(20 * 60_000);
  agent = await mcpAgentOn(service, 'sealed', 'github');
  client = mcpClientOf(service, agent.apiKey);
});

const holdBack = async (): Promise<unknown> =>
  attach(await make('people decide', { type: 'manual_approval' }), {
    targetType: 'agent',
    targetId: agent.id,
  });

describe('get_credential', () => {
  test.each(ERAS)('says where a person decides on a sealed credential (%s)', async (era) => {
    const { content, text, result } = await client.call(era, 'get_credential', { service: 'sealed' });
    expect(result.isError).toBe(true);
    expect(content).toMatchObject({
      code: 'APPROVAL_REQUIRED',
      retryAfter: 5,
      approval: { status: 'pending' },
    });
    expect(text).toContain(content.approval.url);
    await approver.decide(content.approval.url);
    const given = await client.call(era, 'get_credential', { service: 'sealed' });
    expect(given.content.credentialUrl).toContain(service.pair.webhookUrl);
  });

  test('says where a member decides on what a policy holds back', async () => {
    await holdBack();
    const { content, text } = await client.call2025('get_credential', { service: 'github' });
    expect(content).toMatchObject({ code: 'POLICY_DENIED', approval: { status: 'pending' } });
    expect(text).toContain(content.approval.url);
    await service.admin('POST', `/api/approvals/${content.approval.id}/deny`);
    const denied = await client.call2025('get_credential', { service: 'github' });
    expect(denied.content.approval.status).toBe('denied');
  });

  test('waits as long as it is told to', async () => {
    await holdBack();
    const calling = client.call2025('get_credential', { service: 'github', wait: 30, reason: 'to deploy' });
    const pending = async () => (await service.admin('GET', '/api/approvals?status=pending')).json.items;
    await expect
      .poll(pending, { timeout: 20_000 })
      .toMatchObject([{ agentId: agent.id, reason: 'to deploy' }]);
    const [open] = await pending();
    await service.admin('POST', `/api/approvals/${open.id}/approve`);
    expect((await calling).content.credentialUrl).toBeDefined();
  });

  test('does not understand other values of wait and reason', async () => {
    for (const wrong of [{ wait: 31 }, { wait: '1' }, { wait: -1 }, { reason: '' }, { reason: 1 }]) {
      const { content } = await client.call2025('get_credential', { service: 'github', ...wrong });
      expect(content.code).toBe('INVALID_ARGUMENT');
    }
  });

  test('lists what it says of approvals in its schemas', async () => {
    const { json } = await client.request('2025-11-25', 'tools/list');
    const tool = json.result.tools.find(({ name }: { name: string }) => name === 'get_credential');
    expect(Object.keys(tool.inputSchema.properties)).toEqual(['service', 'wait', 'reason']);
    expect(JSON.stringify(tool.outputSchema)).toContain('"approval"');
  });
});

describe('a client that opens pages for its user', () => {
  const call = { name: 'get_credential', arguments: { service: 'sealed' } };

  test('of 2025-11-25 declares it in its handshake, and gets the page as an error', async () => {
    const hello = (capabilities: object) =>
      client.request('2025-11-25', 'initialize', {
        protocolVersion: '2025-11-25',
        capabilities,
        clientInfo: { name: 'test', version: '1' },
      });
    expect((await hello({ elicitation: { form: {} } })).headers.get('mcp-session-id')).toBeNull();
    const session = (await hello({ elicitation: { url: {} } })).headers.get('mcp-session-id') ?? '';
    const body = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: call };
    const headers = { 'mcp-protocol-version': '2025-11-25', 'mcp-session-id': session };
    const { status, json } = await client.raw(body, headers);
    expect([status, json.id, json.error.code]).toEqual([200, 7, -32_042]);
    const [elicitation] = json.error.data.elicitations;
    expect(elicitation).toMatchObject({ mode: 'url', elicitationId: expect.stringMatching(/^apr_/) });
    await approver.decide(elicitation.url);
    expect((await client.raw(body, headers)).json.result.structuredContent.credentialUrl).toBeDefined();
  });

  test('of 2026-07-28 declares it in each request, and gets the page as what the call needs first', async () => {
    const capabilities = { elicitation: { url: {} } };
    const _meta = { ...ENVELOPE, 'io.modelcontextprotocol/clientCapabilities': capabilities };
    const send = (more: object = {}) =>
      client.raw(
        { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { ...call, ...more, _meta } },
        { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'get_credential' },
      );
    const { result } = (await send()).json;
    expect(result.resultType).toBe('input_required');
    const { approval } = result.inputRequests;
    expect(approval).toMatchObject({ method: 'elicitation/create', params: { mode: 'url' } });
    const opened = { inputResponses: { approval: { action: 'accept' } } };
    // Opened, and not decided yet: the client must not open it again and again.
    expect((await send(opened)).json.result.structuredContent).toMatchObject({ code: 'APPROVAL_REQUIRED' });
    await approver.decide(approval.params.url);
    expect((await send(opened)).json.result.structuredContent.credentialUrl).toBeDefined();
  });
});
