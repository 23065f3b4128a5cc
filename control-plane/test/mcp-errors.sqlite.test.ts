import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERAS, type Era, type McpClient, type ToolAnswer, mcpAgentOn, mcpClientOf } from './mcp-steps.ts';
import { type PairedService, startPairedService } from './paired-service.ts';
import { policySteps } from './policy-steps.ts';

// The specification's table of tool errors, row by row and in both eras, and what an error looks like to a client.

const CREDENTIAL_TOOLS = ['get_credential', 'show_credential', 'credential_history'] as const;

let service: PairedService;
beforeAll(async () => {
  service = await startPairedService();
});
afterAll(() => service.stop());

interface Agent extends McpClient {
  readonly id: string;
}

async function agentWith(...serviceNames: string[]): Promise<Agent> {
  const { id, apiKey } = await mcpAgentOn(service, ...serviceNames);
  return { id, ...mcpClientOf(service, apiKey) };
}

const policies = policySteps(() => service.pair);
const policyOn = async ({ id }: Agent, rule: Parameters<typeof policies.make>[1]): Promise<unknown> =>
  policies.attach(await policies.make('a policy', rule), { targetType: 'agent', targetId: id });

/** A tool error has one shape: HTTP 200, `isError`, the code in words and as a member, and nothing else. */
function expectToolError(answer: ToolAnswer, code: string, more: object = {}): void {
  const { message } = answer.content;
  expect(answer.status).toBe(200);
  expect(answer.answer.headers.has('retry-after')).toBe(false);
  expect(answer.result).toMatchObject({
    isError: true,
    content: [{ type: 'text', text: `Error [${code}]: ${message}` }],
  });
  expect(answer.content).toEqual({ code, message: expect.stringMatching(/./), ...more });
  expect(answer.result.content).toHaveLength(1);
}

describe.each(ERAS)('in %s', (era: Era) => {
  it('NO_GRANT is the same for a service that is granted to others, that exists, and that does not', async () => {
    const agent = await agentWith();
    await agentWith('theirs');
    await service.admin('POST', '/api/tokens', {
      body: { serviceName: `mine-${era}`, tokenType: 'PlainText' },
    });
    for (const tool of ['get_credential', 'show_credential']) {
      const answers = [];
      for (const name of ['theirs', `mine-${era}`, 'nowhere'])
        answers.push(await agent.call(era, tool, { service: name }));
      for (const answer of answers) expectToolError(answer, 'NO_GRANT');
      expect(new Set(answers.map(({ content }) => JSON.stringify(content))).size).toBe(1);
    }
  });

  it('NO_GRANT follows a revoked grant', async () => {
    const agent = await agentWith('github');
    await service.admin('DELETE', `/api/agents/${agent.id}/grants/github`);
    expectToolError(await agent.call(era, 'get_credential', { service: 'github' }), 'NO_GRANT');
    expectToolError(await agent.call(era, 'show_credential', { service: 'github' }), 'NO_GRANT');
  });

  it.each(['get_credential', 'show_credential'])(
    'GRANT_EXPIRED once from %s, then NO_GRANT',
    async (tool) => {
      const agent = await agentWith();
      await service.admin('POST', `/api/agents/${agent.id}/grants`, {
        body: { serviceName: 'github', expiresInSeconds: 3_600 },
      });
      service.clock.advance(3_600_000);
      expectToolError(await agent.call(era, tool, { service: 'github' }), 'GRANT_EXPIRED');
      expectToolError(await agent.call(era, tool, { service: 'github' }), 'NO_GRANT');
      const { content } = await agent.call(era, 'list_credentials');
      expect(content).toEqual({ grants: [] });
    },
  );

  it('POLICY_DENIED names policy, rule and reason, and no time', async () => {
    const agent = await agentWith('github');
    await policyOn(agent, { type: 'manual_approval' });
    const denied = await agent.call(era, 'get_credential', { service: 'github' });
    expectToolError(denied, 'POLICY_DENIED');
    expect(denied.text).toContain('manual_approval');
    // Metadata tools evaluate no policy.
    for (const tool of ['show_credential', 'credential_history', 'list_credentials', 'whoami'])
      expect((await agent.call(era, tool, { service: 'github' })).result.isError).toBeUndefined();
  });

  it('POLICY_DENIED has retryAfter where the rule is a rate_limit', async () => {
    const agent = await agentWith('github');
    await policyOn(agent, { type: 'rate_limit', limit: 1, windowSeconds: 9 });
    expect(
      (await agent.call(era, 'get_credential', { service: 'github' })).content.credentialUrl,
    ).toBeDefined();
    expectToolError(await agent.call(era, 'get_credential', { service: 'github' }), 'POLICY_DENIED', {
      retryAfter: 9,
    });
  });

  it('RATE_LIMITED with retryAfter past the no-grant miss limit, while other services go on', async () => {
    const agent = await agentWith('github');
    for (let miss = 0; miss < 10; miss++)
      expectToolError(
        await agent.call(era, miss % 2 ? 'get_credential' : 'show_credential', { service: 'no' }),
        'NO_GRANT',
      );
    const limited = await agent.call(era, 'get_credential', { service: 'no' });
    expectToolError(limited, 'RATE_LIMITED', { retryAfter: expect.any(Number) });
    expect(limited.content.retryAfter).toBeGreaterThan(0);
    expect(
      (await agent.call(era, 'get_credential', { service: 'github' })).content.credentialUrl,
    ).toBeDefined();
  });

  it('VAULT_LOCKED from get_credential alone', async () => {
    const agent = await agentWith('github');
    await service.admin('POST', '/api/vault/lock');
    const answers = new Map<string, ToolAnswer>();
    for (const tool of [...CREDENTIAL_TOOLS, 'list_credentials', 'whoami'])
      answers.set(tool, await agent.call(era, tool, { service: 'github' }));
    await service.admin('POST', '/api/vault/unlock');
    for (const [tool, answer] of answers)
      if (tool === 'get_credential') expectToolError(answer, 'VAULT_LOCKED');
      else expect(answer.result.isError).toBeUndefined();
  });

  const NAMES: readonly (readonly [string, unknown])[] = [
    ['no arguments', undefined],
    ['no service', {}],
    ['a number', { service: 7 }],
    ['null', { service: null }],
    ['a list', { service: ['github'] }],
    ['an object', { service: { name: 'github' } }],
    ['an empty one', { service: '' }],
    ['one with a slash', { service: 'github/x' }],
    ['one of 129 characters', { service: 'x'.repeat(129) }],
    ['a space around it', { service: ' github' }],
    ['a control character', { service: 'git\u0000hub' }],
    ['another spelling of the member', { Service: 'github' }],
  ];
  it.each(CREDENTIAL_TOOLS)('INVALID_ARGUMENT from %s for every service that is no name', async (tool) => {
    const agent = await agentWith('github');
    for (const [, args] of NAMES) expectToolError(await agent.call(era, tool, args), 'INVALID_ARGUMENT');
    const [latest] = await service.log(`&agentId=${agent.id}`);
    expect(latest).not.toHaveProperty('serviceName', 'github/x');
  });

  it.each([
    ['limit', 0],
    ['limit', 51],
    ['limit', 1.5],
    ['limit', '20'],
    ['cursor', ''],
    ['cursor', 'x'],
    ['cursor', 7],
    ['cursor', 'x'.repeat(10_000)],
  ])('INVALID_ARGUMENT from credential_history for %s %j', async (name, value) => {
    const agent = await agentWith('github');
    const answer = await agent.call(era, 'credential_history', { service: 'github', [name]: value });
    expectToolError(answer, 'INVALID_ARGUMENT');
    expect(answer.text).toContain(name);
  });

  it('INVALID_ARGUMENT for the cursor of another agent or service', async () => {
    const agent = await agentWith('github', 'npm');
    for (let n = 0; n < 3; n++) await agent.call(era, 'get_credential', { service: 'github' });
    const { content } = await agent.call(era, 'credential_history', { service: 'github', limit: 1 });
    const cursor = content.nextCursor as string;
    expectToolError(
      await agent.call(era, 'credential_history', { service: 'npm', cursor }),
      'INVALID_ARGUMENT',
    );
    const other = await agentWith('github');
    expectToolError(
      await other.call(era, 'credential_history', { service: 'github', cursor }),
      'INVALID_ARGUMENT',
    );
  });

  it('an unknown tool is the protocol’s own error', async () => {
    const agent = await agentWith();
    for (const name of ['get_secret', 'GET_CREDENTIAL', '', '__proto__', 'constructor', 'x'.repeat(1_000)]) {
      const { answer } = await agent.call(era, name, {});
      expect([answer.status, answer.json.error.code]).toEqual([200, -32_602]);
      expect(answer.json.error.message).toBe('Unknown tool; tools/list gives those there are');
    }
  });

  it.each([[[1]], ['github'], [7], [true]])(
    'arguments that are no object (%j) are the protocol’s own error, and ask for nothing',
    async (args) => {
      const agent = await agentWith('github');
      const { answer } = await agent.call(era, 'get_credential', args);
      expect([answer.status, answer.json.error.code]).toEqual([200, -32_602]);
      expect(answer.text).not.toMatch(/\bat .*\.(?:ts|mjs)/);
      const made = await service.log(`&agentId=${agent.id}&eventType=AGENT_CREDENTIAL_ACCESS`);
      expect(made).toEqual([]);
    },
  );

  it('every error fits the output schema, which older clients hold it against', async () => {
    const agent = await agentWith('github');
    const { json } = await agent.request(era, 'tools/list');
    const tools = json.result.tools as { name: string; outputSchema: object }[];
    const { content } = await agent.call(era, 'get_credential', {});
    for (const { outputSchema } of tools) {
      const validate = new AjvJsonSchemaValidator().getValidator(outputSchema);
      expect(validate(content)).toMatchObject({ valid: true });
      expect(validate({ ...content, code: 'SOMETHING' })).toMatchObject({ valid: false });
    }
  });
});

describe.each(ERAS)('without a webhook, in %s', (era) => {
  it('WEBHOOK_NOT_CONFIGURED from get_credential, metadata from the others', async () => {
    const unbound = await startPairedService({ bound: false });
    const { apiKey } = await mcpAgentOn(unbound, 'github');
    const client = mcpClientOf(unbound, apiKey);
    expectToolError(
      await client.call(era, 'get_credential', { service: 'github' }),
      'WEBHOOK_NOT_CONFIGURED',
    );
    for (const tool of ['show_credential', 'list_credentials', 'whoami', 'credential_history'])
      expect((await client.call(era, tool, { service: 'github' })).result.isError).toBeUndefined();
    await unbound.stop();
  });
});
