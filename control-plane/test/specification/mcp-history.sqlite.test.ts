import { describe, expect } from 'vitest';
import { ERAS } from '../support/mcp-steps.ts';
import { pathFor } from '../support/pair-agents.ts';
import { type ToolResult, expectResult, expectToolError } from './mcp-answers.ts';
import { type McpAgent, type McpFixture, mcpTest } from './mcp-fixture.ts';
import { pipeline } from './pipeline.ts';

const MINUTE_MS = 60_000;

/** What a call may ask for beside the service. */
type Asked = Readonly<Record<string, unknown>>;

interface Entry {
  readonly eventType: string;
  readonly timestamp: string;
  readonly outcome: string;
}

const history = async ({ mcp }: McpAgent, service: string, asked: Asked = {}): Promise<ToolResult> =>
  expectResult(await mcp.call('credential_history', { service, ...asked }));

const entriesOf = ({ structured }: ToolResult): readonly Entry[] => structured.history as readonly Entry[];

/** Fetches so often, one row of the log each, and lets the minute pass. */
async function access(
  fixture: McpFixture,
  { apiKey }: McpAgent,
  service: string,
  count: number,
): Promise<void> {
  const asked = { path: pathFor(service), headers: { authorization: `Bearer ${apiKey}` } };
  const statuses = await pipeline(
    fixture.pair.controlPlaneUrl(),
    Array.from({ length: count }, () => asked),
  );
  expect(new Set(statuses)).toEqual(new Set([307]));
  fixture.wait(MINUTE_MS);
}

describe.each(ERAS)('in revision %s', (era) => {
  const test = mcpTest(era);

  // spec: credential_history | service (string, required);
  // spec: | {history: [ {eventType, timestamp, outcome} ], nextCursor}.
  // spec: The activity (audit) log records agent credential accesses and is readable through credential_history. One event type is shown: AGENT_CREDENTIAL_ACCESS. One outcome value is shown: success.
  test('credential_history returns type, time and outcome of each event', async ({ fixture }) => {
    const [agent, other] = await fixture.agents(2, 'github');
    await agent!.ask('github');
    await other!.ask('github');
    fixture.wait(1_000);
    await fixture.policy({ type: 'manual_approval' }, { targetType: 'agent', targetId: agent!.id });
    expectToolError(await agent!.mcp.call('get_credential', { service: 'github' }), 'POLICY_DENIED');
    const { structured } = await history(agent!, 'github');
    const at = (ms: number): string => new Date(fixture.pair.clock.now() - ms).toISOString();
    // Newest first, the agent's own alone, exactly these members.
    expect(structured).toEqual({
      history: [
        { eventType: 'AGENT_CREDENTIAL_ACCESS', timestamp: at(0), outcome: 'denied' },
        { eventType: 'AGENT_CREDENTIAL_ACCESS', timestamp: at(1_000), outcome: 'success' },
        { eventType: 'GRANT_CREATED', timestamp: at(1_000), outcome: 'success' },
      ],
    });
    expect(entriesOf(await history(other!, 'github'))).toHaveLength(2);
    expect((await history(agent!, 'unheard-of')).structured).toEqual({ history: [] });
    // No live grant is needed.
    await fixture.admin('DELETE', `/api/agents/${agent!.id}/grants/github`);
    expect(entriesOf(await history(agent!, 'github'))[0]).toMatchObject({ eventType: 'GRANT_REVOKED' });
  });

  // spec: credential_history |
  // spec: limit (integer 1 to 50, default 20, optional); cursor (string, optional, opaque, taken from a previous nextCursor)
  test('credential_history takes a service, a limit of 1 to 50 and a cursor', async ({ fixture }) => {
    const [agent, other] = await fixture.agents(2, 'github', 'second');
    for (const each of [agent!, other!]) await access(fixture, each, 'github', 55);
    expect(entriesOf(await history(agent!, 'github'))).toHaveLength(20);
    for (const limit of [1, 20, 50])
      expect(entriesOf(await history(agent!, 'github', { limit }))).toHaveLength(limit);
    for (const limit of [0, -1, 51, 1.5, '20', true, [20]])
      expectToolError(
        await agent!.mcp.call('credential_history', { service: 'github', limit }),
        'INVALID_ARGUMENT',
      );
    fixture.wait(MINUTE_MS);
    // Opaque: it fits the agent and the service that it was given for, and nothing can be made of it.
    const { nextCursor } = (await history(agent!, 'github')).structured as { nextCursor: string };
    expect(nextCursor).not.toMatch(/^\d+$/);
    expect(entriesOf(await history(agent!, 'github', { cursor: nextCursor }))).toHaveLength(20);
    const ask = (who: McpAgent, service: string, cursor: unknown) =>
      who.mcp.call('credential_history', { service, cursor });
    for (const cursor of ['', '1', 'nonsense', `${nextCursor}A`, nextCursor.slice(0, -2), 7, {}])
      expectToolError(await ask(agent!, 'github', cursor), 'INVALID_ARGUMENT');
    expectToolError(await ask(agent!, 'second', nextCursor), 'INVALID_ARGUMENT');
    expectToolError(await ask(other!, 'github', nextCursor), 'INVALID_ARGUMENT');
  });

  // spec: nextCursor is absent when nothing is left.
  test('credential_history has no nextCursor where nothing is left', async ({ fixture }) => {
    const agent = await fixture.agent('github');
    await access(fixture, agent, 'github', 19);
    const all = await history(agent, 'github');
    expect([entriesOf(all).length, 'nextCursor' in all.structured]).toEqual([20, false]);
    const { structured } = await history(agent, 'github', { limit: 19 });
    expect(structured.nextCursor).toEqual(expect.any(String));
    const rest = await history(agent, 'github', { limit: 19, cursor: structured.nextCursor });
    expect([entriesOf(rest).length, 'nextCursor' in rest.structured]).toEqual([1, false]);
  });

  // spec: credential_history paging rules:
  // spec: Each call reads one page of at most 100 activity rows for the agent, then filters that page to the requested service.
  test('credential_history reads 100 rows of the agent and filters them by service', async ({ fixture }) => {
    const agent = await fixture.agent('busy', 'quiet');
    await access(fixture, agent, 'quiet', 3);
    await access(fixture, agent, 'busy', 50);
    await access(fixture, agent, 'busy', 49);
    // Of the newest 100 rows of the agent, one is of the service that is asked for; then none.
    expect(entriesOf(await history(agent, 'quiet'))).toHaveLength(1);
    await access(fixture, agent, 'busy', 1);
    const { structured } = await history(agent, 'quiet');
    expect(structured).toEqual({ history: [], nextCursor: expect.any(String) as string });
    // What others of the account do is no row of the agent's.
    const other = await fixture.agent('quiet');
    await access(fixture, other, 'quiet', 30);
    expect((await history(agent, 'quiet')).structured.history).toEqual([]);
    expect(entriesOf(await history(other, 'quiet', { limit: 50 }))).toHaveLength(31);
  });

  // spec: A call can return fewer than limit rows, even zero, while more history exists.
  test('credential_history may return fewer rows than asked for while more are left', async ({ fixture }) => {
    const agent = await fixture.agent('busy', 'quiet');
    await access(fixture, agent, 'quiet', 5);
    await access(fixture, agent, 'busy', 50);
    await access(fixture, agent, 'busy', 50);
    await access(fixture, agent, 'quiet', 2);
    const sizes: [number, boolean][] = [];
    let cursor: string | undefined;
    do {
      const { structured } = await history(agent, 'quiet', { limit: 50, ...(cursor && { cursor }) });
      sizes.push([structured.history.length, 'nextCursor' in structured]);
      cursor = structured.nextCursor as string | undefined;
    } while (cursor !== undefined);
    // Two of the newest hundred; the five, and the grant, behind them.
    expect(sizes).toEqual([
      [2, true],
      [6, false],
    ]);
  });

  // spec: The caller keeps passing nextCursor as cursor.
  test('credential_history returns each row once to a caller that follows the cursor', async ({
    fixture,
  }) => {
    const agent = await fixture.agent('busy', 'quiet');
    for (let n = 0; n < 6; n++) {
      await access(fixture, agent, 'quiet', 2);
      await access(fixture, agent, 'busy', 30);
    }
    const seen: Entry[] = [];
    let cursor: string | undefined;
    let calls = 0;
    do {
      const { structured } = await history(agent, 'quiet', { limit: 3, ...(cursor && { cursor }) });
      seen.push(...(structured.history as Entry[]));
      cursor = structured.nextCursor as string | undefined;
      // What happens meanwhile moves nothing.
      if (++calls % 2 === 0) await access(fixture, agent, 'quiet', 1);
    } while (cursor !== undefined);
    // Twelve accesses, two at a time, and the grant: each once, newest first.
    const times = seen.map(({ timestamp }) => timestamp);
    expect(times).toEqual(times.toSorted().toReversed());
    expect(seen.at(-1)?.eventType).toBe('GRANT_CREATED');
    expect(Object.values(Object.groupBy(times, (time) => time)).map((at) => at?.length)).toEqual([
      2, 2, 2, 2, 2, 3,
    ]);
  });
});
