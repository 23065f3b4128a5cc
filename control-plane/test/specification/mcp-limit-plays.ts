import { expect } from 'vitest';
import { storedState } from '../stored-state.ts';
import { expectRefusal } from './answers.ts';
import { HANDSHAKES, inFull, toolsCall } from './eras.ts';
import type { LIMIT_ROWS } from './limit-rows.ts';
import { expectLimited, expectResult, expectToolError } from './mcp-answers.ts';
import { type McpAgent, type McpPlay, type Scene, hintOf, sceneOn, useFloorByCalls } from './mcp-scene.ts';
import { pathFor } from '../pair-agents.ts';
import { pipeline } from './pipeline.ts';
import { rateOf, type Row } from './row.ts';
import { raiseCurtain } from './stage.ts';
import { expectWindow } from './windows.ts';

const MINUTE_MS = 60_000;
const FLOOR = 60;
const HANDSHAKE = 120;
const WHOAMI = toolsCall('whoami', {});
const LIST: { method: string } = { method: 'tools/list' };

const lockouts = async ({ admin }: Scene): Promise<unknown[]> =>
  (await admin('GET', '/api/limits/lockouts')).json.items as unknown[];

const history = ({ mcp }: McpAgent, id?: string) => mcp.call('credential_history', { service: 'github' }, id);

/** "Limits", as far as they hold at the MCP endpoint. */
export const MCP_LIMIT_PLAYS = {
  'retry hint, MCP': async (scene) => {
    const [floor, greeting, reading] = await scene.agents(3, 'github');
    await floor!.mcp.spend(FLOOR, WHOAMI);
    await greeting!.mcp.spend(HANDSHAKE, LIST);
    await reading!.mcp.spend(20, toolsCall('credential_history', { service: 'github' }));
    scene.wait(30_250);
    const refused = [
      () => floor!.mcp.send(WHOAMI),
      () => greeting!.mcp.send(LIST),
      () => history(reading!),
    ] as const;
    for (const ask of refused) expectLimited(await ask(), 30);
    // Who waits so long gets through, and who waits less does not.
    scene.wait(29_000);
    for (const ask of refused) expectLimited(await ask(), 1);
    scene.wait(1_000);
    for (const ask of refused) expect((await ask()).status).toBe(200);
  },

  'agent_credentials, MCP': async (scene, row) => {
    const agent = await scene.agent('github');
    // Every tool counts, and what is none; REST as well.
    const calls = [
      () => hintOf(agent.mcp.call('whoami')),
      () => hintOf(agent.mcp.call('get_credential', { service: 'github' })),
      () => hintOf(agent.mcp.call('show_credential', {})),
      () => hintOf(agent.mcp.call('no_such_tool', {})),
      () => hintOf(agent.mcp.send({ ...WHOAMI, id: null }), null),
      async () => (await agent.list()).json.retryAfter as number | undefined,
    ];
    let call = 0;
    await expectWindow(scene.pair.clock, rateOf(row), () => calls[call++ % calls.length]!());
    // One lockout: whichever door it came by, both are shut.
    const [byRest, byMcp] = await scene.agents(2, 'github');
    await scene.spend([byRest!], FLOOR);
    expectLimited(await byRest!.mcp.send(WHOAMI), 60);
    expectRefusal(await byRest!.ask('github'), '429 RATE_LIMITED');
    await useFloorByCalls(byMcp!);
    expectRefusal(await byMcp!.list(), '429 RATE_LIMITED');
    expectLimited(await byMcp!.mcp.send(WHOAMI), 60);
    expect(await lockouts(scene)).toHaveLength(2);
  },

  mcp_handshake: async (scene, row) => {
    const agent = await scene.agent();
    let n = 0;
    const messages = HANDSHAKES[scene.era];
    const send = async (): Promise<number | undefined> => {
      const message = messages[n++ % messages.length]!;
      return hintOf(agent.mcp.send(message), message.id === null ? null : 1);
    };
    await expectWindow(scene.pair.clock, rateOf(row), send, async (count) => {
      for (const message of messages) await agent.mcp.spend(Math.floor(count / 3), message);
      await agent.mcp.spend(count - 3 * Math.floor(count / 3), LIST);
    });
    // Per agent.
    const [full, other] = await scene.agents(2);
    await full!.mcp.spend(HANDSHAKE, LIST);
    expectLimited(await full!.mcp.send(LIST), 60);
    expect((await other!.mcp.send(LIST)).status).toBe(200);
  },

  credential_history: async (scene, row) => {
    const { limit } = rateOf(row);
    const agent = await scene.agent('github');
    await expectWindow(scene.pair.clock, rateOf(row), () => hintOf(history(agent)));
    // On top of agent_credentials, not instead of it: past it other calls pass, and every one was counted there.
    const other = await scene.agent('github');
    await other.mcp.spend(limit, toolsCall('credential_history', { service: 'github' }));
    expectLimited(await history(other, 'one more'), 60, 'one more');
    expect(await lockouts(scene)).toEqual([]);
    await other.mcp.spend(FLOOR - limit - 1, WHOAMI);
    expectLimited(await history(other), 60);
    expect(await lockouts(scene)).toMatchObject([{ callerId: other.id, strikes: 1 }]);
  },

  'credential_history, order': async ({ era }) => {
    const stage = await raiseCurtain({ env: { SV_LIMIT_CREDENTIAL_HISTORY: '2' } });
    try {
      const scene = sceneOn(stage, era);
      const agent = await scene.agent('github');
      for (let n = 0; n < 2; n++) expectResult(await history(agent));
      // Past it the log is not needed; under it nothing can be said without.
      const state = storedState(stage.pair.databaseUrl);
      await state.run('ALTER TABLE audit_events RENAME TO audit_events_away');
      expectLimited(await history(agent), 60);
      stage.wait(MINUTE_MS);
      const failed = await history(agent);
      expect([failed.json?.result, failed.status >= 500]).toEqual([undefined, true]);
      await state.run('ALTER TABLE audit_events_away RENAME TO audit_events');
      expectResult(await history(agent));
      expectLimited(await history(agent), 60);
    } finally {
      await stage.close();
    }
  },

  'order: penalty box, MCP': async (scene) => {
    const [agent, other] = await scene.agents(2, 'github');
    await scene.spend([agent!], FLOOR);
    expectRefusal(await agent!.list(), '429 RATE_LIMITED');
    scene.wait(10_000);
    await scene.admin('POST', '/api/vault/lock');
    for (const service of ['github', 'nothing', 'a/b', ''])
      expectLimited(await agent!.mcp.call('get_credential', { service }), 50);
    for (const message of HANDSHAKES[scene.era])
      expectLimited(await agent!.mcp.send(message), 50, message.id === null ? null : 1);
    expectToolError(await other!.mcp.call('get_credential', { service: 'github' }), 'VAULT_LOCKED');
    await scene.admin('POST', '/api/vault/unlock');
    scene.wait(50_000);
    expectResult(await agent!.mcp.call('get_credential', { service: 'github' }));
  },

  'order: shared by REST and MCP': async (scene) => {
    const agent = await scene.agent('github');
    const { accessToken } = await scene.session(agent);
    const session = scene.caller(accessToken);
    await scene.spend([agent], 20);
    await agent.mcp.spend(20, WHOAMI);
    await session.spend(20, WHOAMI);
    scene.wait(MINUTE_MS - 500);
    // The 61st, whichever it is, strikes; the rest of them find the box.
    expectLimited(await session.send(WHOAMI), 1);
    expectLimited(await agent.mcp.send(WHOAMI), 1);
    expectRefusal(await agent.ask('github'), '429 RATE_LIMITED');
    expect(await lockouts(scene)).toMatchObject([{ callerId: agent.id, strikes: 1 }]);
    // The next violation is of the other door, and the second strike.
    scene.wait(1_000);
    await agent.mcp.spend(FLOOR, WHOAMI);
    scene.wait(MINUTE_MS - 500);
    expect((await agent.list()).json.retryAfter).toBe(2);
    expectLimited(await session.send(LIST), 2);
  },

  'handshake: exempt': async (scene) => {
    const agent = await scene.agent('github');
    for (const message of HANDSHAKES[scene.era]) await agent.mcp.spend(HANDSHAKE / 3, message);
    for (let n = 0; n < 30; n++) expectLimited(await agent.mcp.send(LIST), 60);
    expect(await lockouts(scene)).toEqual([]);
    // The floor has all its room, and so has the handshake when the floor is at its end.
    await agent.mcp.spend(FLOOR, WHOAMI);
    const other = await scene.agent();
    await other.mcp.spend(FLOOR, WHOAMI);
    await other.mcp.spend(HANDSHAKE, LIST);
    expect(await lockouts(scene)).toEqual([]);
  },

  'handshake: aggregate': async (scene) => {
    const [last, ...crowd] = await scene.agents(6, 'github');
    for (const { mcp } of crowd) await mcp.spend(HANDSHAKE, LIST);
    // 600 of 600: nothing is left for anybody of the account.
    expectLimited(await last!.mcp.send(LIST), 60);
    expectLimited(await last!.mcp.send(WHOAMI), 60);
    expectRefusal(await last!.ask('github'), '429 RATE_LIMITED');
    expect(await lockouts(scene)).toEqual([]);
    scene.wait(MINUTE_MS);
    for (const message of [LIST, WHOAMI]) expect((await last!.mcp.send(message)).status).toBe(200);
  },

  'handshake: batch': async (scene) => {
    const { era } = scene;
    // Exempt in a batch is what the specification names, in either era (contract, "MCP").
    const exempt = HANDSHAKES['2025-11-25'].map((message) => inFull(era, message).body);
    const call = inFull(era, WHOAMI).body;
    const batchOf = async ({ mcp }: McpAgent, batch: unknown): Promise<number | undefined> => {
      const answer = await mcp.sendRaw(batch);
      const limited = await hintOf(Promise.resolve(answer), null);
      if (limited === undefined) expect(answer.json.error.code).toBe(-32_600);
      return limited;
    };
    // One unit, however many are in it.
    const greeting = await scene.agent();
    await greeting.mcp.spend(HANDSHAKE - 1, LIST);
    expect(await batchOf(greeting, Array.from({ length: 40 }, () => exempt).flat())).toBeUndefined();
    expect(await batchOf(greeting, exempt)).toBe(60);
    expectLimited(await greeting.mcp.send(LIST), 60);
    // It left the floor alone; of what is not exempt one message is enough, and an empty batch has none that is.
    const batches = [
      [...exempt, call],
      [call, ...exempt],
      Array.from({ length: 100 }, () => call),
      [],
      ...['ping', 'server/discover'].map((method) => [...exempt, inFull(era, { method }).body]),
      [...exempt, 7],
    ];
    for (const batch of batches) {
      const agent = await scene.agent();
      await agent.mcp.spend(FLOOR - 1, WHOAMI);
      expect(await batchOf(agent, batch)).toBeUndefined();
      expect(await batchOf(agent, exempt)).toBeUndefined();
      expect([batch.length, await batchOf(agent, batch)]).toEqual([batch.length, 60]);
    }
    expect(await lockouts(scene)).toHaveLength(batches.length);
  },

  'other: history page': async (scene) => {
    const agent = await scene.agent('busy', 'quiet');
    const { apiKey } = agent;
    const fetchOften = async (service: string, count: number): Promise<void> => {
      const asked = { path: pathFor(service), headers: { authorization: `Bearer ${apiKey}` } };
      const url = scene.pair.controlPlaneUrl();
      await pipeline(
        url,
        Array.from({ length: count }, () => asked),
      );
      scene.wait(MINUTE_MS);
    };
    await fetchOften('quiet', 30);
    await fetchOften('busy', 50);
    await fetchOften('busy', 50);
    const read = async (service: string, asked: Readonly<Record<string, unknown>> = {}) =>
      expectResult(await agent.mcp.call('credential_history', { service, ...asked })).structured as {
        history: readonly unknown[];
        nextCursor?: string;
      };
    expect((await read('busy')).history).toHaveLength(20);
    expect((await read('busy', { limit: 50 })).history).toHaveLength(50);
    for (const limit of [0, 51])
      expectToolError(
        await agent.mcp.call('credential_history', { service: 'busy', limit }),
        'INVALID_ARGUMENT',
      );
    // The agent's newest 100 rows hold nothing of it; the cursor says that more is left.
    const first = await read('quiet');
    expect([first.history, first.nextCursor]).toEqual([[], expect.any(String)]);
    expect((await read('quiet', { limit: 50, cursor: first.nextCursor })).history).toHaveLength(31);
  },
} as const satisfies Partial<Record<keyof typeof LIMIT_ROWS, McpPlay<Row>>>;
