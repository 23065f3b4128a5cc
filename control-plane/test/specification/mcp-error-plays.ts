import { expect } from 'vitest';
import { expectRefusal } from './answers.ts';
import type { ERROR_ROWS } from './error-rows.ts';
import { BLOCKING_RULES } from './error-plays.ts';
import { HANDSHAKES, toolsCall } from './eras.ts';
import { expectLimited, expectResult, expectToolError } from './mcp-answers.ts';
import { type McpCaller, type McpPlay, sceneOn, useFloorByCalls } from './mcp-scene.ts';
import type { Row } from './row.ts';
import { raiseCurtain } from './stage.ts';

const HOUR_MS = 3_600_000;

/** Those that take a service. */
const ABOUT_A_SERVICE = ['get_credential', 'show_credential', 'credential_history'] as const;

const get = (mcp: McpCaller, service: string) => mcp.call('get_credential', { service });
const show = (mcp: McpCaller, service: string) => mcp.call('show_credential', { service });

/** "Errors", "MCP endpoint". */
export const MCP_ERROR_PLAYS = {
  'MCP rate denial': async (scene) => {
    const agent = await scene.agent('github');
    await useFloorByCalls(agent);
    // The floor first, then the penalty box; `expectLimited` looks at every member, and at the header.
    for (const id of ['a text', '', 0, 7, -1, 2 ** 40])
      expectLimited(await agent.mcp.call('get_credential', { service: 'github' }, id), 60, id);
    expectLimited(await agent.mcp.send({ method: 'tools/list', id: 'listing' }), 60, 'listing');
    // Contract, "MCP": what has no id is answered with none.
    const notification = { method: 'notifications/cancelled', params: { requestId: 1 }, id: null };
    expectLimited(await agent.mcp.send(notification), 60, null);
    expectLimited(await agent.mcp.sendRaw([]), 60, null);
    expectLimited(await agent.mcp.sendRaw({ jsonrpc: '2.0', id: { a: 1 }, method: 'tools/call' }), 60, null);
  },

  'MCP rate denial: no policy': async (scene) => {
    const agent = await scene.agent('github');
    const rule = { type: 'rate_limit', limit: 1, windowSeconds: 3_000 };
    await scene.policy(rule, { targetType: 'agent', targetId: agent.id });
    expectResult(await get(agent.mcp, 'github'));
    // A policy's rate is a result of the tool; the box, once the floor is used up, is not.
    expectToolError(await get(agent.mcp, 'github'), 'POLICY_DENIED', 3_000);
    await agent.mcp.spend(58, toolsCall('get_credential', { service: 'github' }));
    expectLimited(await get(agent.mcp, 'github'), 60);
    const asking = await scene.agent('github');
    await asking.mcp.spend(120, HANDSHAKES[scene.era][2]);
    expectLimited(await asking.mcp.send(HANDSHAKES[scene.era][0]), 60);
    await asking.mcp.spend(20, toolsCall('credential_history', { service: 'a' }));
    expectLimited(await asking.mcp.call('credential_history', { service: 'a' }), 60);
  },

  'tool: text': async (scene) => {
    // `expectToolError` compares the text with the code and the message.
    const { mcp } = await scene.agent('github');
    expectToolError(await get(mcp, 'nothing'), 'NO_GRANT');
    expectToolError(await get(mcp, 'a/b'), 'INVALID_ARGUMENT');
    await scene.admin('POST', '/api/vault/lock');
    expectToolError(await get(mcp, 'github'), 'VAULT_LOCKED');
    await scene.admin('POST', '/api/vault/unlock');
  },

  'tool: NO_GRANT': async (scene) => {
    const [agent, other] = await scene.agents(2);
    await scene.grant(other!, { serviceName: 'elsewhere' });
    await scene.admin('POST', '/api/tokens', { body: { serviceName: 'known', tokenType: 'PlainText' } });
    const texts: string[] = [];
    for (const ask of [get, show])
      for (const service of ['known', 'elsewhere', 'unheard-of', 'constructor']) {
        const answer = await ask(agent!.mcp, service);
        expectToolError(answer, 'NO_GRANT');
        texts.push(JSON.stringify([answer.text, answer.headers.get('content-length')]));
      }
    expect(new Set(texts).size).toBe(1);
  },

  'tool: GRANT_EXPIRED': async (scene) => {
    for (const ask of [get, show]) {
      const agent = await scene.agent();
      await scene.grant(agent, { serviceName: 'hourly', expiresInSeconds: 3_600 });
      expectResult(await ask(agent.mcp, 'hourly'));
      scene.wait(HOUR_MS);
      expectToolError(await ask(agent.mcp, 'hourly'), 'GRANT_EXPIRED');
      expect((await scene.admin('GET', `/api/agents/${agent.id}/grants`)).json.items).toEqual([]);
      expectToolError(await ask(agent.mcp, 'hourly'), 'NO_GRANT');
      const events = `/api/audit?agentId=${agent.id}&eventType=GRANT_EXPIRED`;
      expect((await scene.admin('GET', events)).json.items).toHaveLength(1);
    }
  },

  'tool: POLICY_DENIED': async (scene) => {
    for (const rule of BLOCKING_RULES) {
      const agent = await scene.agent('github');
      await scene.policy(rule, { targetType: 'agent', targetId: agent.id });
      if (rule.type === 'max_usage') expectResult(await get(agent.mcp, 'github'));
      expectToolError(await get(agent.mcp, 'github'), 'POLICY_DENIED');
      // No others evaluate any (contract, "Policies").
      for (const tool of ABOUT_A_SERVICE.slice(1))
        expectResult(await agent.mcp.call(tool, { service: 'github' }));
      for (const tool of ['list_credentials', 'whoami']) expectResult(await agent.mcp.call(tool));
    }
    const slowed = await scene.agent('github');
    const rule = { type: 'rate_limit', limit: 1, windowSeconds: 9 };
    await scene.policy(rule, { targetType: 'agent', targetId: slowed.id });
    expectResult(await get(slowed.mcp, 'github'));
    expectToolError(await get(slowed.mcp, 'github'), 'POLICY_DENIED', 9);
    scene.wait(9_000);
    expectResult(await get(slowed.mcp, 'github'));
  },

  'tool: RATE_LIMITED': async (scene) => {
    const agent = await scene.agent('github');
    // One count of misses, whichever tool, and whichever door.
    for (let n = 0; n < 3; n++) {
      expectToolError(await get(agent.mcp, 'nothing'), 'NO_GRANT');
      expectToolError(await show(agent.mcp, `unheard-of-${n}`), 'NO_GRANT');
      expectRefusal(await agent.ask('nothing'), '404 NO_GRANT');
    }
    scene.wait(20_500);
    expectToolError(await get(agent.mcp, 'nothing'), 'NO_GRANT');
    for (const ask of [get, show]) expectToolError(await ask(agent.mcp, 'nothing'), 'RATE_LIMITED', 40);
    expectRefusal(await agent.ask('nothing'), '429 RATE_LIMITED');
    // Services with a grant are unaffected, and it is no strike however often it is met.
    await agent.mcp.spend(30, toolsCall('get_credential', { service: 'nothing' }));
    expectToolError(await get(agent.mcp, 'nothing'), 'RATE_LIMITED', 40);
    for (const ask of [get, show]) expectResult(await ask(agent.mcp, 'github'));
    expect((await scene.admin('GET', '/api/limits/lockouts')).json.items).toEqual([]);
    scene.wait(39_500);
    expectToolError(await get(agent.mcp, 'nothing'), 'NO_GRANT');
  },

  'tool: VAULT_LOCKED': async (scene) => {
    const agent = await scene.agent('github');
    await scene.admin('POST', '/api/vault/lock');
    for (const service of ['github', 'nothing'])
      expectToolError(await get(agent.mcp, service), 'VAULT_LOCKED');
    // Metadata goes on (contract, "Lock").
    for (const tool of ABOUT_A_SERVICE.slice(1))
      expectResult(await agent.mcp.call(tool, { service: 'github' }));
    for (const tool of ['list_credentials', 'whoami']) expectResult(await agent.mcp.call(tool));
    await scene.admin('POST', '/api/vault/unlock');
    expectResult(await get(agent.mcp, 'github'));
  },

  'tool: WEBHOOK_NOT_CONFIGURED': async ({ era }) => {
    const stage = await raiseCurtain({ bound: false });
    try {
      const { mcp } = await sceneOn(stage, era).agent('github');
      expectToolError(await get(mcp, 'github'), 'WEBHOOK_NOT_CONFIGURED');
      expectToolError(await get(mcp, 'nothing'), 'NO_GRANT');
      for (const tool of ABOUT_A_SERVICE.slice(1)) expectResult(await mcp.call(tool, { service: 'github' }));
      expectResult(await mcp.call('list_credentials'));
    } finally {
      await stage.close();
    }
  },

  'tool: INVALID_ARGUMENT': async (scene) => {
    const unfit = [
      undefined,
      {},
      { Service: 'github' },
      ...[7, null, true, [], ['github'], {}, ''].map(toService),
    ];
    const names = ['a/b', '/', 'a/', '/a', 'x'.repeat(129), ' a', 'a\n', '..'].map(toService);
    for (const tool of ABOUT_A_SERVICE) {
      // 18 calls each: no limit is met.
      const { mcp } = await scene.agent('github');
      for (const args of [...unfit, ...names]) {
        const answer = await mcp.call(tool, args);
        const { code } = answer.json.result?.structuredContent ?? {};
        expect([tool, args, code]).toEqual([tool, args, 'INVALID_ARGUMENT']);
        expectToolError(answer, 'INVALID_ARGUMENT');
      }
      // Whatever is beside it.
      expectResult(await mcp.call(tool, { service: 'github', other: 'member' }));
    }
  },
} as const satisfies Partial<Record<keyof typeof ERROR_ROWS, McpPlay<Row>>>;

const toService = (service: unknown): Readonly<Record<string, unknown>> => ({ service });
