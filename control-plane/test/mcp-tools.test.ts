import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERAS, type McpClient, mcpAgentOn, mcpClientOf } from './mcp-steps.ts';
import { storeOn, take } from './pair-agents.ts';
import { type PairedService, startPairedService } from './paired-service.ts';

// The five tools on the real webhook, each row of the specification's table in both eras.

interface ListedTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: Record<string, unknown>;
  readonly outputSchema: Record<string, unknown>;
  readonly annotations: Record<string, boolean>;
}

const CANARY = 'a-secret-value-that-no-answer-may-hold';
const HOUR_MS = 3_600_000;
let service: PairedService;
let agent: { readonly id: string; readonly apiKey: string };
let client: McpClient;
let tools: ReadonlyMap<string, ListedTool>;

beforeAll(async () => {
  service = await startPairedService();
  const { admin, pair } = service;
  await storeOn(pair, 'github', { tokenType: 'PlainText', value: CANARY });
  await storeOn(pair, 'calendar', {
    tokenType: 'JWT',
    accessToken: CANARY,
    refreshToken: `${CANARY}-refresh`,
    expiryTime: '2026-12-01T00:00:00.000Z',
  });
  await admin('PATCH', '/api/tokens/github', {
    body: { displayName: 'GitHub', description: 'for the\nrelease job', tags: ['ci', 'prod'] },
  });
  agent = await mcpAgentOn(service, 'github', 'unstored');
  await admin('POST', `/api/agents/${agent.id}/grants`, {
    body: { serviceName: 'calendar', expiresInSeconds: HOUR_MS / 1_000, refreshPolicy: 'auto' },
  });
  client = mcpClientOf(service, agent.apiKey);
  const { json } = await client.request('2025-11-25', 'tools/list');
  tools = new Map((json.result.tools as ListedTool[]).map((tool) => [tool.name, tool]));
});
afterAll(() => service.stop());

/** Holds a result against the schema that the tool is listed with, as clients do. */
function expectListedForm(tool: string, content: unknown): void {
  const schema = tools.get(tool)?.outputSchema ?? {};
  expect(new AjvJsonSchemaValidator().getValidator(schema)(content)).toMatchObject({ valid: true });
}

const CALENDAR_ENDS = '2026-11-20T13:00:00.000Z';

describe('tools/list', () => {
  it.each(ERAS)('names the five tools with titles, schemas and hints (%s)', async (era) => {
    const { json } = await client.request(era, 'tools/list');
    const listed = json.result.tools as ListedTool[];
    expect(listed.map(({ name }) => name)).toEqual([
      'list_credentials',
      'get_credential',
      'whoami',
      'show_credential',
      'credential_history',
    ]);
    for (const tool of listed) {
      expect(tool.title.length * tool.description.length).toBeGreaterThan(0);
      expect(tool.inputSchema).toMatchObject({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        additionalProperties: false,
      });
      expect(tool.outputSchema).toMatchObject({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
      });
      expect(tool.annotations['destructiveHint']).toBe(false);
      expect(tool.annotations['readOnlyHint']).toBe(tool.name !== 'get_credential');
      expect(tool.annotations['idempotentHint']).toBe(tool.name !== 'get_credential');
    }
  });

  it('asks for arguments as the specification has them', () => {
    const input = (name: string) => tools.get(name)?.inputSchema;
    for (const name of ['list_credentials', 'whoami']) expect(input(name)).toMatchObject({ properties: {} });
    for (const name of ['get_credential', 'show_credential', 'credential_history'])
      expect(input(name)).toMatchObject({
        required: ['service'],
        properties: { service: { type: 'string' } },
      });
    expect(input('credential_history')).toMatchObject({
      properties: {
        limit: { type: 'integer', minimum: 1, maximum: 50, default: 20 },
        cursor: { type: 'string' },
      },
    });
  });

  it('may be kept by its caller alone (2026-07-28)', async () => {
    const { json } = await client.request('2026-07-28', 'tools/list');
    expect(json.result).toMatchObject({ cacheScope: 'private', ttlMs: expect.any(Number) });
  });
});

describe.each(ERAS)('in %s', (era) => {
  it('list_credentials gives grants with what owner and webhook say of them', async () => {
    const { status, content, text } = await client.call(era, 'list_credentials', {});
    expect(status).toBe(200);
    expectListedForm('list_credentials', content);
    expect(content).toEqual({
      grants: [
        {
          serviceName: 'calendar',
          grantExpiresAt: CALENDAR_ENDS,
          refreshPolicy: 'auto',
          description: '',
          displayName: 'calendar',
          tags: [],
          tokenType: 'JWT',
          expiryTime: '2026-12-01T00:00:00.000Z',
          hasRefreshToken: true,
        },
        {
          serviceName: 'github',
          grantExpiresAt: null,
          refreshPolicy: 'none',
          description: 'for the\nrelease job',
          displayName: 'GitHub',
          tags: ['ci', 'prod'],
          tokenType: 'PlainText',
          hasRefreshToken: false,
        },
        { serviceName: 'unstored', grantExpiresAt: null, refreshPolicy: 'none' },
      ],
    });
    expect(text.split('\n')).toEqual([
      'Credentials that this agent may get: 3',
      `- calendar: expires ${CALENDAR_ENDS}, refresh policy auto (calendar.)`,
      '- github: expires Never, refresh policy none (GitHub. for the release job)',
      '- unstored: expires Never, refresh policy none',
    ]);
  });

  it('get_credential gives an address that works once, and nothing of the credential', async () => {
    const { result, content, text, answer } = await client.call(era, 'get_credential', { service: 'github' });
    expect(result.isError).toBeUndefined();
    expectListedForm('get_credential', content);
    expect(Object.keys(content).toSorted()).toEqual(['credentialUrl', 'expiresAt', 'method', 'serviceName']);
    expect(content).toMatchObject({ serviceName: 'github', method: 'GET' });
    expect(content.credentialUrl).toMatch(`${service.pair.webhookUrl}/v1/credential?ticket=`);
    const seconds = (Date.parse(content.expiresAt) - service.clock.now()) / 1_000;
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(60);
    for (const part of ['GET', 'once', content.credentialUrl, content.expiresAt, 'Do not log'])
      expect(text).toContain(part);
    expect(answer.text).not.toContain(CANARY);

    const first = await take(service.pair, content.credentialUrl);
    expect([first.status, first.json.token.accessToken]).toEqual([200, CANARY]);
    expect((await take(service.pair, content.credentialUrl)).status).toBe(401);
    const [logged] = await service.log(`&agentId=${agent.id}&serviceName=github`);
    expect(logged).toMatchObject({ eventType: 'AGENT_CREDENTIAL_ACCESS', outcome: 'success' });
  });

  it('get_credential gives a new address each time', async () => {
    const urls = new Set<string>();
    for (let n = 0; n < 3; n++)
      urls.add((await client.call(era, 'get_credential', { service: 'github' })).content.credentialUrl);
    expect(urls.size).toBe(3);
  });

  it('whoami tells the agent of itself, and neither an e-mail nor how a rule is set', async () => {
    const { admin } = service;
    const rules = [
      { type: 'ip_allowlist', cidrs: ['127.0.0.0/8', '203.0.113.0/24'] },
      { type: 'rate_limit', limit: 1000, windowSeconds: 60 },
      { type: 'rate_limit', limit: 4711, windowSeconds: 3600 },
    ];
    const policies = [
      { name: 'office', enabled: true, rules },
      { name: 'asleep', enabled: false, rules: [{ type: 'manual_approval' }] },
    ];
    const ids: string[] = [];
    for (const body of policies) {
      const { json } = await admin('POST', '/api/policies', { body });
      ids.push(json.id);
      const target = { targetType: 'agent', targetId: agent.id };
      await admin('POST', `/api/policies/${json.id}/attachments`, { body: target });
    }
    const { content, text, answer } = await client.call(era, 'whoami');
    for (const id of ids) await admin('DELETE', `/api/policies/${id}`);
    expectListedForm('whoami', content);
    const me = await admin('GET', '/api/me');
    expect(content).toEqual({
      id: agent.id,
      name: 'builder',
      status: 'active',
      ownerId: expect.stringMatching(/^usr_/),
      grants: [
        { serviceName: 'calendar', grantExpiresAt: CALENDAR_ENDS, refreshPolicy: 'auto' },
        { serviceName: 'github', grantExpiresAt: null, refreshPolicy: 'none' },
        { serviceName: 'unstored', grantExpiresAt: null, refreshPolicy: 'none' },
      ],
      policies: [{ name: 'office', ruleTypes: ['ip_allowlist', 'rate_limit'] }],
    });
    expect(text).toContain('office (ip_allowlist, rate_limit)');
    expect(me.text).toContain('owner@example.org');
    for (const kept of ['@', '203.0.113', '4711', '3600']) expect(answer.text).not.toContain(kept);
  });

  it('show_credential gives metadata of one grant', async () => {
    const calendar = await client.call(era, 'show_credential', { service: 'calendar' });
    expectListedForm('show_credential', calendar.content);
    expect(calendar.content).toEqual({
      serviceName: 'calendar',
      grantExpiresAt: CALENDAR_ENDS,
      refreshPolicy: 'auto',
      displayName: 'calendar',
      tokenType: 'JWT',
      hasRefreshToken: true,
    });
    const unstored = await client.call(era, 'show_credential', { service: 'unstored' });
    expect(unstored.content).toEqual({
      serviceName: 'unstored',
      grantExpiresAt: null,
      refreshPolicy: 'none',
    });
  });

  it('credential_history pages through the agent’s own part of the log, newest first', async () => {
    const other = await mcpAgentOn(service, 'github');
    await mcpClientOf(service, other.apiKey).call(era, 'get_credential', { service: 'github' });
    const all = await client.call(era, 'credential_history', { service: 'github', limit: 50 });
    expectListedForm('credential_history', all.content);
    const own = await service.log(`&agentId=${agent.id}&serviceName=github`);
    expect(all.content.history).toEqual(
      own.map(({ eventType, timestamp, outcome }) => ({ eventType, timestamp, outcome })),
    );
    expect(all.content).not.toHaveProperty('nextCursor');

    const paged: unknown[] = [];
    let cursor: string | undefined;
    do {
      const { content, text } = await client.call(era, 'credential_history', {
        service: 'github',
        limit: 1,
        ...(cursor !== undefined && { cursor }),
      });
      paged.push(...content.history);
      cursor = content.nextCursor;
      expect(text.includes('call again with cursor')).toBe(cursor !== undefined);
    } while (cursor !== undefined);
    expect(paged).toEqual(all.content.history);
  });

  it('needs no arguments where a tool has none, and looks at none that it does not know', async () => {
    for (const tool of ['list_credentials', 'whoami'])
      for (const args of [undefined, {}, { random_string: 'dummy' }])
        expect((await client.call(era, tool, args)).result.isError).toBeUndefined();
    const { content } = await client.call(era, 'get_credential', { service: 'github', reason: 'because' });
    expect(content.credentialUrl).toEqual(expect.any(String));
  });

  it('no tool’s answer holds anything of a credential', async () => {
    for (const tool of tools.keys()) {
      const { answer } = await client.call(era, tool, { service: 'calendar' });
      expect(answer.text).not.toContain(CANARY);
      service.clock.advance(60_000);
    }
  });
});
