import { describe, expect } from 'vitest';
import { ERAS } from '../support/mcp-steps.ts';
import { pathFor } from '../support/pair-agents.ts';
import { storedState } from '../support/stored-state.ts';
import { expectRefusal } from './answers.ts';
import { HANDSHAKES, inFull, toolsCall } from './eras.ts';
import { startFixture } from './fixture.ts';
import { expectLimited, expectResult, expectToolError } from './mcp-answers.ts';
import {
  type McpAgent,
  type McpFixture,
  hintOf,
  mcpFixture,
  useFloorByCalls,
  mcpTest,
} from './mcp-fixture.ts';
import { pipeline } from './pipeline.ts';
import { expectWindow, perMinute } from './windows.ts';

const MINUTE_MS = 60_000;
const FLOOR = 60;
const HANDSHAKE = 120;
const WHOAMI = toolsCall('whoami', {});
const LIST: { method: string } = { method: 'tools/list' };

const lockouts = async ({ admin }: McpFixture): Promise<unknown[]> =>
  (await admin('GET', '/api/limits/lockouts')).json.items as unknown[];

const history = ({ mcp }: McpAgent, id?: string) => mcp.call('credential_history', { service: 'github' }, id);

describe.each(ERAS)('in revision %s', (era) => {
  const test = mcpTest(era);

  // spec: All rate-limit responses carry a retry hint:
  // spec: or the -32029 error on MCP. Clients wait the indicated number of seconds.
  test('a caller that waits as long as a -32029 error says is served', async ({ fixture }) => {
    const [floor, greeting, reading] = await fixture.agents(3, 'github');
    await floor!.mcp.spend(FLOOR, WHOAMI);
    await greeting!.mcp.spend(HANDSHAKE, LIST);
    await reading!.mcp.spend(20, toolsCall('credential_history', { service: 'github' }));
    fixture.wait(30_250);
    const refused = [
      () => floor!.mcp.send(WHOAMI),
      () => greeting!.mcp.send(LIST),
      () => history(reading!),
    ] as const;
    for (const ask of refused) expectLimited(await ask(), 30);
    // Who waits so long gets through, and who waits less does not.
    fixture.wait(29_000);
    for (const ask of refused) expectLimited(await ask(), 1);
    fixture.wait(1_000);
    for (const ask of refused) expect((await ask()).status).toBe(200);
  });

  // spec: agent_credentials | 60 per minute per agent |
  // spec: and MCP tools/call (shared counter and shared lockout).
  test('tools/call shares the floor and the lockout of the REST endpoint', async ({ fixture }) => {
    const agent = await fixture.agent('github');
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
    await expectWindow(fixture.pair.clock, perMinute(60), () => calls[call++ % calls.length]!());
    // One lockout: whichever door it came by, both are shut.
    const [byRest, byMcp] = await fixture.agents(2, 'github');
    await fixture.spend([byRest!], FLOOR);
    expectLimited(await byRest!.mcp.send(WHOAMI), 60);
    expectRefusal(await byRest!.ask('github'), '429 RATE_LIMITED');
    await useFloorByCalls(byMcp!);
    expectRefusal(await byMcp!.list(), '429 RATE_LIMITED');
    expectLimited(await byMcp!.mcp.send(WHOAMI), 60);
    expect(await lockouts(fixture)).toHaveLength(2);
  });

  // spec: mcp_handshake | 120 per minute per agent
  // spec: | initialize, tools/list, notifications/*.
  test('an agent may send 120 handshake messages a minute', async ({ fixture }) => {
    const agent = await fixture.agent();
    let n = 0;
    const messages = HANDSHAKES[fixture.era];
    const send = async (): Promise<number | undefined> => {
      const message = messages[n++ % messages.length]!;
      return hintOf(agent.mcp.send(message), message.id === null ? null : 1);
    };
    await expectWindow(fixture.pair.clock, perMinute(120), send, async (count) => {
      for (const message of messages) await agent.mcp.spend(Math.floor(count / 3), message);
      await agent.mcp.spend(count - 3 * Math.floor(count / 3), LIST);
    });
    // Per agent.
    const [full, other] = await fixture.agents(2);
    await full!.mcp.spend(HANDSHAKE, LIST);
    expectLimited(await full!.mcp.send(LIST), 60);
    expect((await other!.mcp.send(LIST)).status).toBe(200);
  });

  // spec: credential_history | 20 per minute per agent | An extra cap on top of agent_credentials for credential_history.
  test('credential_history is limited to 20 calls a minute on top of the floor', async ({ fixture }) => {
    const { limit } = perMinute(20);
    const agent = await fixture.agent('github');
    await expectWindow(fixture.pair.clock, perMinute(20), () => hintOf(history(agent)));
    // On top of agent_credentials, not instead of it: past it other calls pass, and every one was counted there.
    const other = await fixture.agent('github');
    await other.mcp.spend(limit, toolsCall('credential_history', { service: 'github' }));
    expectLimited(await history(other, 'one more'), 60, 'one more');
    expect(await lockouts(fixture)).toEqual([]);
    await other.mcp.spend(FLOOR - limit - 1, WHOAMI);
    expectLimited(await history(other), 60);
    expect(await lockouts(fixture)).toMatchObject([{ callerId: other.id, strikes: 1 }]);
  });

  // spec: It is checked before any log read. It can be overridden by environment.
  test('the limit of credential_history is evaluated before the log is read', async () => {
    const strict = await startFixture({ env: { SV_LIMIT_CREDENTIAL_HISTORY: '2' } });
    try {
      const agent = await mcpFixture(strict, era).agent('github');
      for (let n = 0; n < 2; n++) expectResult(await history(agent));
      // Past it the log is not needed; under it nothing can be said without.
      const state = storedState(strict.pair.databaseUrl);
      await state.run('ALTER TABLE audit_events RENAME TO audit_events_away');
      expectLimited(await history(agent), 60);
      strict.wait(MINUTE_MS);
      const failed = await history(agent);
      expect([failed.json?.result, failed.status >= 500]).toEqual([undefined, true]);
      await state.run('ALTER TABLE audit_events_away RENAME TO audit_events');
      expectResult(await history(agent));
      expectLimited(await history(agent), 60);
    } finally {
      await strict.close();
    }
  });

  // spec: Penalty box.
  // spec: on both REST and MCP.
  test('the penalty box denies every message and every service', async ({ fixture }) => {
    const [agent, other] = await fixture.agents(2, 'github');
    await fixture.spend([agent!], FLOOR);
    expectRefusal(await agent!.list(), '429 RATE_LIMITED');
    fixture.wait(10_000);
    await fixture.admin('POST', '/api/vault/lock');
    for (const service of ['github', 'nothing', 'a/b', ''])
      expectLimited(await agent!.mcp.call('get_credential', { service }), 50);
    for (const message of HANDSHAKES[fixture.era])
      expectLimited(await agent!.mcp.send(message), 50, message.id === null ? null : 1);
    expectToolError(await other!.mcp.call('get_credential', { service: 'github' }), 'VAULT_LOCKED');
    await fixture.admin('POST', '/api/vault/unlock');
    fixture.wait(50_000);
    expectResult(await agent!.mcp.call('get_credential', { service: 'github' }));
  });

  // spec: The REST and MCP endpoints share the same floor counter and penalty box.
  test('REST, MCP and OAuth sessions of an agent share one floor and one penalty box', async ({
    fixture,
  }) => {
    const agent = await fixture.agent('github');
    const { accessToken } = await fixture.session(agent);
    const session = fixture.caller(accessToken);
    await fixture.spend([agent], 20);
    await agent.mcp.spend(20, WHOAMI);
    await session.spend(20, WHOAMI);
    fixture.wait(MINUTE_MS - 500);
    // The 61st, whichever it is, strikes; the rest of them find the box.
    expectLimited(await session.send(WHOAMI), 1);
    expectLimited(await agent.mcp.send(WHOAMI), 1);
    expectRefusal(await agent.ask('github'), '429 RATE_LIMITED');
    expect(await lockouts(fixture)).toMatchObject([{ callerId: agent.id, strikes: 1 }]);
    // The next violation is of the other door, and the second strike.
    fixture.wait(1_000);
    await agent.mcp.spend(FLOOR, WHOAMI);
    fixture.wait(MINUTE_MS - 500);
    expect((await agent.list()).json.retryAfter).toBe(2);
    expectLimited(await session.send(LIST), 2);
  });

  // spec: initialize, tools/list and notifications/* skip the floor, the aggregate and the strikes. They count against mcp_handshake.
  test('handshake messages take nothing from the floor and are no strike', async ({ fixture }) => {
    const agent = await fixture.agent('github');
    for (const message of HANDSHAKES[fixture.era]) await agent.mcp.spend(HANDSHAKE / 3, message);
    for (let n = 0; n < 30; n++) expectLimited(await agent.mcp.send(LIST), 60);
    expect(await lockouts(fixture)).toEqual([]);
    // The floor has all its room, and so has the handshake when the floor is at its end.
    await agent.mcp.spend(FLOOR, WHOAMI);
    const other = await fixture.agent();
    await other.mcp.spend(FLOOR, WHOAMI);
    await other.mcp.spend(HANDSHAKE, LIST);
    expect(await lockouts(fixture)).toEqual([]);
  });

  // spec: They still count against the account aggregate ceiling, with no strike.
  test('handshake messages count against the account ceiling, without a strike', async ({ fixture }) => {
    const [last, ...crowd] = await fixture.agents(6, 'github');
    for (const { mcp } of crowd) await mcp.spend(HANDSHAKE, LIST);
    // 600 of 600: nothing is left for anybody of the account.
    expectLimited(await last!.mcp.send(LIST), 60);
    expectLimited(await last!.mcp.send(WHOAMI), 60);
    expectRefusal(await last!.ask('github'), '429 RATE_LIMITED');
    expect(await lockouts(fixture)).toEqual([]);
    fixture.wait(MINUTE_MS);
    for (const message of [LIST, WHOAMI]) expect((await last!.mcp.send(message)).status).toBe(200);
  });

  // spec: A JSON-RPC batch counts as one unit. It counts against mcp_handshake only if every message in it is exempt. Otherwise the whole batch counts against the floor.
  test('a batch counts once, as a handshake only where every message of it is one', async ({ fixture }) => {
    const { era } = fixture;
    // In a batch the messages that the specification names are exempt, in either revision.
    const exempt = HANDSHAKES['2025-11-25'].map((message) => inFull(era, message).body);
    const call = inFull(era, WHOAMI).body;
    const batchOf = async ({ mcp }: McpAgent, batch: unknown): Promise<number | undefined> => {
      const answer = await mcp.sendRaw(batch);
      const limited = await hintOf(Promise.resolve(answer), null);
      if (limited === undefined) expect(answer.json.error.code).toBe(-32_600);
      return limited;
    };
    // One unit, however many are in it.
    const greeting = await fixture.agent();
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
      const agent = await fixture.agent();
      await agent.mcp.spend(FLOOR - 1, WHOAMI);
      expect(await batchOf(agent, batch)).toBeUndefined();
      expect(await batchOf(agent, exempt)).toBeUndefined();
      expect([batch.length, await batchOf(agent, batch)]).toEqual([batch.length, 60]);
    }
    expect(await lockouts(fixture)).toHaveLength(batches.length);
  });

  // spec: credential_history page size is at most 50 (default 20). It reads at most 100 log rows per page.
  test('credential_history returns at most 50 rows of at most 100 that it reads', async ({ fixture }) => {
    const agent = await fixture.agent('busy', 'quiet');
    const { apiKey } = agent;
    const fetchOften = async (service: string, count: number): Promise<void> => {
      const asked = { path: pathFor(service), headers: { authorization: `Bearer ${apiKey}` } };
      const url = fixture.pair.controlPlaneUrl();
      await pipeline(
        url,
        Array.from({ length: count }, () => asked),
      );
      fixture.wait(MINUTE_MS);
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
  });
});
