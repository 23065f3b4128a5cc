import { describe, expect } from 'vitest';
import { ERAS } from '../support/mcp-steps.ts';
import { expectRefusal } from './answers.ts';
import { HANDSHAKES, toolsCall } from './eras.ts';
import { BLOCKING_RULES, startFixture } from './fixture.ts';
import { expectLimited, expectResult, expectToolError } from './mcp-answers.ts';
import { type McpCaller, mcpFixture, useFloorByCalls, mcpTest } from './mcp-fixture.ts';

const HOUR_MS = 3_600_000;

/** Those that take a service. */
const ABOUT_A_SERVICE = ['get_credential', 'show_credential', 'credential_history'] as const;

const get = (mcp: McpCaller, service: string) => mcp.call('get_credential', { service });
const show = (mcp: McpCaller, service: string) => mcp.call('show_credential', { service });

describe.each(ERAS)('in revision %s', (era) => {
  const test = mcpTest(era);

  // spec: Rate and penalty denials come back as a JSON-RPC error, not a tool result:
  // spec: HTTP 429, a Retry-After header, and the request's own id.
  // spec: error.code is -32029 (a service-specific code).
  // spec: error.message is a string.
  // spec: error.data is {code: RATE_LIMITED, retryAfter}.
  test('a denial by limiter or penalty box is a JSON-RPC -32029 with HTTP 429 and the id of the request', async ({
    fixture,
  }) => {
    const agent = await fixture.agent('github');
    await useFloorByCalls(agent);
    // The floor first, then the penalty box; `expectLimited` looks at every member, and at the header.
    for (const id of ['a text', '', 0, 7, -1, 2 ** 40])
      expectLimited(await agent.mcp.call('get_credential', { service: 'github' }, id), 60, id);
    expectLimited(await agent.mcp.send({ method: 'tools/list', id: 'listing' }), 60, 'listing');
    // A message without an id is answered with null.
    const notification = { method: 'notifications/cancelled', params: { requestId: 1 }, id: null };
    expectLimited(await agent.mcp.send(notification), 60, null);
    expectLimited(await agent.mcp.sendRaw([]), 60, null);
    expectLimited(await agent.mcp.sendRaw({ jsonrpc: '2.0', id: { a: 1 }, method: 'tools/call' }), 60, null);
  });

  // spec: On this endpoint data.code is always RATE_LIMITED. A policy denial is a tool result instead.
  test('data.code of a -32029 is RATE_LIMITED, and a policy denial is a tool result', async ({ fixture }) => {
    const agent = await fixture.agent('github');
    const rule = { type: 'rate_limit', limit: 1, windowSeconds: 3_000 };
    await fixture.policy(rule, { targetType: 'agent', targetId: agent.id });
    expectResult(await get(agent.mcp, 'github'));
    // A policy's rate is a result of the tool; the box, once the floor is used up, is not.
    expectToolError(await get(agent.mcp, 'github'), 'POLICY_DENIED', 3_000);
    await agent.mcp.spend(58, toolsCall('get_credential', { service: 'github' }));
    expectLimited(await get(agent.mcp, 'github'), 60);
    const asking = await fixture.agent('github');
    await asking.mcp.spend(120, HANDSHAKES[fixture.era][2]);
    expectLimited(await asking.mcp.send(HANDSHAKES[fixture.era][0]), 60);
    await asking.mcp.spend(20, toolsCall('credential_history', { service: 'a' }));
    expectLimited(await asking.mcp.call('credential_history', { service: 'a' }), 60);
  });

  // spec: Tool errors (HTTP 200, isError: true, structuredContent.code):
  // spec: The text of a tool error has the form Error [<code>]: <message>.
  test('the text of a tool error is Error [code]: message', async ({ fixture }) => {
    // `expectToolError` compares the text with the code and the message.
    const { mcp } = await fixture.agent('github');
    expectToolError(await get(mcp, 'nothing'), 'NO_GRANT');
    expectToolError(await get(mcp, 'a/b'), 'INVALID_ARGUMENT');
    await fixture.admin('POST', '/api/vault/lock');
    expectToolError(await get(mcp, 'github'), 'VAULT_LOCKED');
    await fixture.admin('POST', '/api/vault/unlock');
  });

  // spec: NO_GRANT | No grant, or the service does not exist (deliberately indistinguishable).
  test('a missing grant and an unknown service are the same NO_GRANT', async ({ fixture }) => {
    const [agent, other] = await fixture.agents(2);
    await fixture.grant(other!, { serviceName: 'elsewhere' });
    await fixture.admin('POST', '/api/tokens', { body: { serviceName: 'known', tokenType: 'PlainText' } });
    const texts: string[] = [];
    for (const ask of [get, show])
      for (const service of ['known', 'elsewhere', 'unheard-of', 'constructor']) {
        const answer = await ask(agent!.mcp, service);
        expectToolError(answer, 'NO_GRANT');
        texts.push(JSON.stringify([answer.text, answer.headers.get('content-length')]));
      }
    expect(new Set(texts).size).toBe(1);
  });

  // spec: GRANT_EXPIRED | Grant lapsed (deleted on this call).
  test('an expired grant is GRANT_EXPIRED and is deleted', async ({ fixture }) => {
    for (const ask of [get, show]) {
      const agent = await fixture.agent();
      await fixture.grant(agent, { serviceName: 'hourly', expiresInSeconds: 3_600 });
      expectResult(await ask(agent.mcp, 'hourly'));
      fixture.wait(HOUR_MS);
      expectToolError(await ask(agent.mcp, 'hourly'), 'GRANT_EXPIRED');
      expect((await fixture.admin('GET', `/api/agents/${agent.id}/grants`)).json.items).toEqual([]);
      expectToolError(await ask(agent.mcp, 'hourly'), 'NO_GRANT');
      const events = `/api/audit?agentId=${agent.id}&eventType=GRANT_EXPIRED`;
      expect((await fixture.admin('GET', events)).json.items).toHaveLength(1);
    }
  });

  // spec: POLICY_DENIED | An ABAC rule blocked the call. retryAfter appears only for a rate_limit rule.
  test('a policy denial is POLICY_DENIED, with retryAfter for a rate_limit rule alone', async ({
    fixture,
  }) => {
    for (const rule of BLOCKING_RULES) {
      const agent = await fixture.agent('github');
      await fixture.policy(rule, { targetType: 'agent', targetId: agent.id });
      if (rule.type === 'max_usage') expectResult(await get(agent.mcp, 'github'));
      expectToolError(await get(agent.mcp, 'github'), 'POLICY_DENIED');
      // The other tools evaluate no policy.
      for (const tool of ABOUT_A_SERVICE.slice(1))
        expectResult(await agent.mcp.call(tool, { service: 'github' }));
      for (const tool of ['list_credentials', 'whoami']) expectResult(await agent.mcp.call(tool));
    }
    const slowed = await fixture.agent('github');
    const rule = { type: 'rate_limit', limit: 1, windowSeconds: 9 };
    await fixture.policy(rule, { targetType: 'agent', targetId: slowed.id });
    expectResult(await get(slowed.mcp, 'github'));
    expectToolError(await get(slowed.mcp, 'github'), 'POLICY_DENIED', 9);
    fixture.wait(9_000);
    expectResult(await get(slowed.mcp, 'github'));
  });

  // spec: RATE_LIMITED | Over the no-grant miss limit. retryAfter is present.
  test('past the missing-grant limit a call is RATE_LIMITED with retryAfter', async ({ fixture }) => {
    const agent = await fixture.agent('github');
    // One count of misses, whichever tool, and whichever door.
    for (let n = 0; n < 3; n++) {
      expectToolError(await get(agent.mcp, 'nothing'), 'NO_GRANT');
      expectToolError(await show(agent.mcp, `unheard-of-${n}`), 'NO_GRANT');
      expectRefusal(await agent.ask('nothing'), '404 NO_GRANT');
    }
    fixture.wait(20_500);
    expectToolError(await get(agent.mcp, 'nothing'), 'NO_GRANT');
    for (const ask of [get, show]) expectToolError(await ask(agent.mcp, 'nothing'), 'RATE_LIMITED', 40);
    expectRefusal(await agent.ask('nothing'), '429 RATE_LIMITED');
    // Services with a grant are unaffected, and it is no strike however often it is met.
    await agent.mcp.spend(30, toolsCall('get_credential', { service: 'nothing' }));
    expectToolError(await get(agent.mcp, 'nothing'), 'RATE_LIMITED', 40);
    for (const ask of [get, show]) expectResult(await ask(agent.mcp, 'github'));
    expect((await fixture.admin('GET', '/api/limits/lockouts')).json.items).toEqual([]);
    fixture.wait(39_500);
    expectToolError(await get(agent.mcp, 'nothing'), 'NO_GRANT');
  });

  // spec: VAULT_LOCKED | Vault locked.
  test('a locked vault is VAULT_LOCKED', async ({ fixture }) => {
    const agent = await fixture.agent('github');
    await fixture.admin('POST', '/api/vault/lock');
    for (const service of ['github', 'nothing'])
      expectToolError(await get(agent.mcp, service), 'VAULT_LOCKED');
    // Metadata is not locked.
    for (const tool of ABOUT_A_SERVICE.slice(1))
      expectResult(await agent.mcp.call(tool, { service: 'github' }));
    for (const tool of ['list_credentials', 'whoami']) expectResult(await agent.mcp.call(tool));
    await fixture.admin('POST', '/api/vault/unlock');
    expectResult(await get(agent.mcp, 'github'));
  });

  // spec: WEBHOOK_NOT_CONFIGURED | No webhook bound.
  test('without a bound webhook a call is WEBHOOK_NOT_CONFIGURED', async () => {
    const unbound = await startFixture({ bound: false });
    try {
      const { mcp } = await mcpFixture(unbound, era).agent('github');
      expectToolError(await get(mcp, 'github'), 'WEBHOOK_NOT_CONFIGURED');
      expectToolError(await get(mcp, 'nothing'), 'NO_GRANT');
      for (const tool of ABOUT_A_SERVICE.slice(1)) expectResult(await mcp.call(tool, { service: 'github' }));
      expectResult(await mcp.call('list_credentials'));
    } finally {
      await unbound.close();
    }
  });

  // spec: INVALID_ARGUMENT | get_credential, show_credential or credential_history called without service, or with a non-string or /-containing one.
  test('a missing, non-string or slashed service is INVALID_ARGUMENT', async ({ fixture }) => {
    const unfit = [
      undefined,
      {},
      { Service: 'github' },
      ...[7, null, true, [], ['github'], {}, ''].map(toService),
    ];
    const names = ['a/b', '/', 'a/', '/a', 'x'.repeat(129), ' a', 'a\n', '..'].map(toService);
    for (const tool of ABOUT_A_SERVICE) {
      // 18 calls each: no limit is met.
      const { mcp } = await fixture.agent('github');
      for (const args of [...unfit, ...names]) {
        const answer = await mcp.call(tool, args);
        const { code } = answer.json.result?.structuredContent ?? {};
        expect([tool, args, code]).toEqual([tool, args, 'INVALID_ARGUMENT']);
        expectToolError(answer, 'INVALID_ARGUMENT');
      }
      // Whatever is beside it.
      expectResult(await mcp.call(tool, { service: 'github', other: 'member' }));
    }
  });
});

const toService = (service: unknown): Readonly<Record<string, unknown>> => ({ service });
