import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERAS, type McpClient, type ToolAnswer, mcpAgentOn, mcpClientOf } from '../../support/mcp-steps.ts';
import { storeOn, take } from '../../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../../support/paired-service.ts';

// What a client sees of the five tools.

interface ListedTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: Record<string, unknown>;
  readonly outputSchema: Record<string, unknown>;
  readonly annotations: Record<string, boolean>;
}

const CANARY = 'a-secret-value-that-no-answer-may-hold';
const EXPIRY = '2026-12-01T00:00:00.000Z';
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
    expiryTime: EXPIRY,
  });
  await admin('PATCH', '/api/tokens/github', {
    body: {
      displayName: 'GitHub',
      description: 'for the\nrelease job',
      notes: `${CANARY} of the owner`,
      tags: ['ci', 'prod'],
    },
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
  // spec: get_credential | service (string, required) | A signed, short-lived, one-time credential URL pointing at the webhook's /v1/credential.
  // spec: The get_credential text result is the access token, token type, scope and grant expiry when the service returns the credential itself. When a webhook is bound, get_credential returns the signed URL.
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
});

/** A new agent, whose limits nothing was counted against. */
async function newClient(...serviceNames: string[]): Promise<McpClient & { readonly id: string }> {
  const { id, apiKey } = await mcpAgentOn(service, ...serviceNames);
  return { id, ...mcpClientOf(service, apiKey) };
}
const policyOn = async (targetId: string, name: string, ...rules: object[]): Promise<void> => {
  const { id } = (await service.admin('POST', '/api/policies', { body: { name, rules } })).json;
  const target = { targetType: 'agent', targetId };
  await service.admin('POST', `/api/policies/${id}/attachments`, { body: target });
};

describe('metadata', () => {
  const GITHUB = { serviceName: 'github', grantExpiresAt: null, refreshPolicy: 'none' };
  const CALENDAR = {
    serviceName: 'calendar',
    grantExpiresAt: '2026-11-20T13:00:00.000Z',
    refreshPolicy: 'auto',
  };

  // spec: list_credentials | none | {grants: [ {serviceName, grantExpiresAt, refreshPolicy, description, displayName, tags, tokenType, expiryTime, hasRefreshToken} ]}. No credential material.
  // spec: description, displayName, tags | Metadata owned by the service.
  // spec: The list_credentials text result is a human-readable summary listing, per service, the expiry (or Never) and the refresh policy.
  it('list_credentials returns each grant with what control plane and webhook know of its credential', async () => {
    const { content, text, answer } = await client.call2026('list_credentials');
    const texts = { description: '', displayName: 'calendar', tags: [] };
    expect(content.grants).toEqual([
      { ...CALENDAR, ...texts, tokenType: 'JWT', expiryTime: EXPIRY, hasRefreshToken: true },
      {
        ...GITHUB,
        description: 'for the\nrelease job',
        displayName: 'GitHub',
        tags: ['ci', 'prod'],
        tokenType: 'PlainText',
        hasRefreshToken: false,
      },
      { ...GITHUB, serviceName: 'unstored' },
    ]);
    const [, ...lines] = text.split('\n');
    expect(lines).toEqual([
      expect.stringMatching(new RegExp(`calendar.*${CALENDAR.grantExpiresAt}.*auto`)),
      expect.stringMatching(/github.*Never.*none/),
      expect.stringMatching(/unstored.*Never.*none/),
    ]);
    expect(answer.text).not.toContain(CANARY);
  });

  // spec: show_credential | service (string, required) | {serviceName, grantExpiresAt, refreshPolicy, displayName, tokenType, hasRefreshToken} (metadata only).
  it('show_credential returns metadata alone', async () => {
    const { content, answer } = await client.call2025('show_credential', { service: 'calendar' });
    const known = { displayName: 'calendar', tokenType: 'JWT', hasRefreshToken: true };
    expect(content).toEqual({ ...CALENDAR, ...known });
    expect((await client.call2025('show_credential', { service: 'github' })).content).toEqual({
      ...GITHUB,
      displayName: 'GitHub',
      tokenType: 'PlainText',
      hasRefreshToken: false,
    });
    expect((await client.call2025('show_credential', { service: 'unstored' })).content).toEqual({
      ...GITHUB,
      serviceName: 'unstored',
    });
    expect(answer.text).not.toContain(CANARY);
  });

  // spec: whoami | none (inputSchema is an empty object) | {id, name, status, ownerId, grants: [ {serviceName, grantExpiresAt, refreshPolicy} ], policies: [ {name, ruleTypes: [string]} ]}. It never returns the owner's e-mail or a policy's rule configuration.
  it('whoami returns the agent, its grants and the types of its rules, and nothing of their settings or the owner', async () => {
    const own = await newClient('github');
    await policyOn(
      own.id,
      'house rules',
      { type: 'ip_allowlist', cidrs: ['203.0.113.64/28'] },
      { type: 'rate_limit', limit: 98_765, windowSeconds: 54_321 },
      { type: 'geo_restrict', mode: 'deny', countries: ['LI'] },
    );
    const { content, answer } = await own.call2025('whoami');
    expect(content).toEqual({
      id: own.id,
      name: expect.stringMatching(/^builder /) as string,
      status: 'active',
      ownerId: expect.stringMatching(/^usr_/),
      grants: [GITHUB],
      policies: [{ name: 'house rules', ruleTypes: ['ip_allowlist', 'rate_limit', 'geo_restrict'] }],
    });
    expect(answer.text).not.toMatch(/@|203\.0\.113|98765|54321|"LI"|deny/);
  });
});

describe('an error of a tool', () => {
  /** HTTP 200, exactly these members, and the same as text. */
  function expectToolError({ answer, result }: ToolAnswer, code: string, retryAfter?: number): void {
    const { content, structuredContent, isError } = result;
    const message = structuredContent.message as string;
    expect([answer.status, answer.headers.get('retry-after'), isError]).toEqual([200, null, true]);
    expect(structuredContent).toEqual({
      code,
      message: expect.stringMatching(/\w/),
      ...(retryAfter !== undefined && { retryAfter }),
    });
    expect(content).toEqual([{ type: 'text', text: `Error [${code}]: ${message}` }]);
  }

  // spec: A tools/call denial comes back as HTTP 200 with a result carrying isError: true, a text content item and structuredContent {code, message, retryAfter?} (see Errors).
  // spec: Tool errors (HTTP 200, isError: true, structuredContent.code):
  // spec: The text of a tool error has the form Error [<code>]: <message>.
  // spec: POLICY_DENIED | An ABAC rule blocked the call. retryAfter appears only for a rate_limit rule.
  // spec: RATE_LIMITED | Over the no-grant miss limit. retryAfter is present.
  // spec: A policy denial is a tool result instead.
  it.each(ERAS)(
    'is a result with code and message, and with retryAfter for rates alone (%s)',
    async (era) => {
      const own = await newClient('github');
      const get = (name: string) => own.call(era, 'get_credential', { service: name });
      await policyOn(own.id, 'slowly', { type: 'rate_limit', limit: 1, windowSeconds: 30 });
      expect((await get('github')).result.isError).toBeUndefined();
      expectToolError(await get('github'), 'POLICY_DENIED', 30);
      await policyOn(own.id, 'never', { type: 'ip_allowlist', cidrs: ['10.0.0.0/8'] });
      expectToolError(await get('github'), 'POLICY_DENIED');
      for (let misses = 0; misses < 10; misses++) expectToolError(await get('nothing'), 'NO_GRANT');
      expectToolError(await get('nothing'), 'RATE_LIMITED', 60);
    },
  );

  // spec: NO_GRANT | No grant, or the service does not exist (deliberately indistinguishable).
  // spec: An ungranted service gives the same ambiguous NO_GRANT error as get_credential.
  it('is in the same bytes for a missing grant and an unknown service, whichever tool is called', async () => {
    await newClient('elsewhere');
    const own = await newClient();
    const said = new Set<string>();
    for (const tool of ['get_credential', 'show_credential'])
      for (const name of ['github', 'elsewhere', 'unheard-of', 'constructor']) {
        const { result } = await own.call2025(tool, { service: name });
        said.add(JSON.stringify(result));
      }
    expect([...said]).toEqual([expect.stringContaining('NO_GRANT')]);
  });

  // spec: INVALID_ARGUMENT | get_credential, show_credential or credential_history called without service, or with a non-string or /-containing one.
  it.each(['get_credential', 'show_credential', 'credential_history'])(
    'of %s is INVALID_ARGUMENT without a valid service name',
    async (tool) => {
      const own = await newClient('github');
      for (const args of [undefined, {}, { Service: 'github' }])
        expectToolError(await own.call2026(tool, args), 'INVALID_ARGUMENT');
      for (const name of [7, true, [], ['github'], {}, '', 'a/b', ' a', '..', 'x'.repeat(129)])
        expectToolError(await own.call2026(tool, { service: name }), 'INVALID_ARGUMENT');
    },
  );
});

// spec: credential_history | service (string, required); limit (integer 1 to 50, default 20, optional); cursor (string, optional, opaque, taken from a previous nextCursor) | {history: [ {eventType, timestamp, outcome} ], nextCursor}. nextCursor is absent when nothing is left.
// spec: The activity (audit) log records agent credential accesses and is readable through credential_history. One event type is shown: AGENT_CREDENTIAL_ACCESS. One outcome value is shown: success.
it("credential_history returns type, time and outcome of the agent's own events, page by page", async () => {
  const [own, other] = [await newClient('github', 'other'), await newClient('github')];
  for (const each of [own, other]) await each.call2025('get_credential', { service: 'github' });
  await own.call2025('get_credential', { service: 'other' });
  const { content } = await own.call2025('credential_history', { service: 'github', limit: 1 });
  const timestamp = new Date(service.clock.now()).toISOString();
  expect(content).toEqual({
    history: [{ eventType: 'AGENT_CREDENTIAL_ACCESS', timestamp, outcome: 'success' }],
    nextCursor: expect.any(String),
  });
  const { nextCursor: cursor } = content;
  const rest = await own.call2025('credential_history', { service: 'github', cursor });
  expect(rest.content).toEqual({ history: [{ eventType: 'GRANT_CREATED', timestamp, outcome: 'success' }] });
  for (const [who, name] of [
    [own, 'other'],
    [other, 'github'],
  ] as const)
    expect((await who.call2025('credential_history', { service: name, cursor })).result.isError).toBe(true);
});
