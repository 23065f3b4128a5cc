import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERAS, type McpClient, mcpAgentOn, mcpClientOf } from '../../support/mcp-steps.ts';
import { storeOn, take } from '../../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../../support/paired-service.ts';

// What a client sees of the five tools beside the specification's rows (specification/mcp-tools.sqlite.test.ts).

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

describe('tools/list', () => {
  it.each(ERAS)('lists the five tools with titles, schemas and hints (%s)', async (era) => {
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

  it('declares the arguments of the specification', () => {
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

  it('may be cached by its caller only (2026-07-28)', async () => {
    const { json } = await client.request('2026-07-28', 'tools/list');
    expect(json.result).toMatchObject({ cacheScope: 'private', ttlMs: expect.any(Number) });
  });
});

describe.each(ERAS)('in %s', (era) => {
  it('every result and every error matches the output schema of its tool', async () => {
    for (const tool of tools.keys()) {
      const { content, result } = await client.call(era, tool, { service: 'calendar' });
      expect(result.isError).toBeUndefined();
      expectListedForm(tool, content);
    }
    const { content } = await client.call(era, 'get_credential', {});
    for (const { outputSchema } of tools.values()) {
      const validate = new AjvJsonSchemaValidator().getValidator(outputSchema);
      expect(validate(content)).toMatchObject({ valid: true });
      expect(validate({ ...content, code: 'SOMETHING' })).toMatchObject({ valid: false });
    }
  });

  // spec: or signed URL.
  it('get_credential returns an address that works once, within 60 seconds', async () => {
    const { content, text } = await client.call(era, 'get_credential', { service: 'github' });
    expect(Object.keys(content).toSorted()).toEqual(['credentialUrl', 'expiresAt', 'method', 'serviceName']);
    expect(content).toMatchObject({ serviceName: 'github', method: 'GET' });
    const seconds = (Date.parse(content.expiresAt) - service.clock.now()) / 1_000;
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(60);
    for (const part of ['GET', 'once', content.credentialUrl, content.expiresAt, 'Do not log'])
      expect(text).toContain(part);
    const first = await take(service.pair, content.credentialUrl);
    expect([first.status, first.json.token.accessToken]).toEqual([200, CANARY]);
    expect((await take(service.pair, content.credentialUrl)).status).toBe(401);
  });

  it('whoami omits a disabled policy', async () => {
    const body = { name: 'asleep', enabled: false, rules: [{ type: 'manual_approval' }] };
    const { id } = (await service.admin('POST', '/api/policies', { body })).json;
    const target = { targetType: 'agent', targetId: agent.id };
    await service.admin('POST', `/api/policies/${id}/attachments`, { body: target });
    expect((await client.call(era, 'whoami')).content.policies).toEqual([]);
    await service.admin('DELETE', `/api/policies/${id}`);
  });

  it('a tool without arguments needs none, and unknown arguments are ignored', async () => {
    for (const tool of ['list_credentials', 'whoami'])
      for (const args of [undefined, {}, { random_string: 'dummy' }])
        expect((await client.call(era, tool, args)).result.isError).toBeUndefined();
    const { content } = await client.call(era, 'get_credential', { service: 'github', reason: 'because' });
    expect(content.credentialUrl).toEqual(expect.any(String));
  });

  it('no result of a tool holds a part of a credential', async () => {
    for (const tool of tools.keys()) {
      const { answer } = await client.call(era, tool, { service: 'calendar' });
      expect(answer.text).not.toContain(CANARY);
      service.clock.advance(60_000);
    }
  });
});
