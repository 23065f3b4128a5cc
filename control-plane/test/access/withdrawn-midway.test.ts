import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type AgentChannels,
  type Channel,
  type ChannelName,
  type TestAgent,
  channelOf,
  startAgentChannels,
  sessionChannel,
} from '../support/agent-channels.ts';
import { connect, postOauth } from '../support/oauth-client.ts';

/*
 * A right of an agent is withdrawn while the agent sends requests. No access follows that event in the log, each access in
 * the log was given, and each ticket is in the log.
 */

let both: AgentChannels;
beforeAll(async () => {
  both = await startAgentChannels({ SV_LIMIT_AGENT_NO_GRANT: '1000' });
});
afterAll(() => both.stop());

interface Withdrawal {
  /** The event of the withdrawal. */
  readonly event: string;
  /** The code from then on. */
  readonly code: string;
  /** @returns the agent's channel, and a function that withdraws the right */
  readonly from: (agent: TestAgent) => Promise<readonly [Channel, () => Promise<unknown>]>;
}

const by =
  (name: ChannelName, path: string, method = 'POST', body?: object): Withdrawal['from'] =>
  async (agent) => [
    await channelOf(both, agent, name),
    () => both.admin(method, `/api/agents/${agent.id}${path}`, body),
  ];
const MCP_OFF = ['', 'PATCH', { mcpEnabled: false }] as const;

const WITHDRAWALS: Readonly<Record<string, Withdrawal>> = {
  'session revoked by its client': {
    event: 'OAUTH_SESSION_REVOKED',
    code: 'INVALID_KEY',
    from: async ({ id }) => {
      const { accessToken, refreshToken } = await connect(both, id);
      return [
        sessionChannel(both.service, accessToken),
        () => postOauth(both.service, 'revoke', { token: refreshToken }),
      ];
    },
  },
  'MCP disabled, by session': {
    event: 'AGENT_UPDATED',
    code: 'MCP_DISABLED',
    from: by('MCP by session', ...MCP_OFF),
  },
  'key rotated': { event: 'KEY_ROTATED', code: 'INVALID_KEY', from: by('MCP by key', '/rotate-key') },
  'grant revoked, by session': {
    event: 'GRANT_REVOKED',
    code: 'NO_GRANT',
    from: by('MCP by session', '/grants/github', 'DELETE'),
  },
};

test.each(Object.entries(WITHDRAWALS))('no access follows: %s', async (_what, { event, code, from }) => {
  const agent = await both.agent('github');
  const [channel, withdraw] = await from(agent);
  const ask = (): Promise<string> => channel.ask('github').then((said) => said.code);
  expect(await ask()).toBe('ticket');
  const asked = Array.from({ length: 30 }, async (_, n) => {
    if (n === 10) await withdraw();
    return ask();
  });
  const said = await Promise.all(asked);
  expect(said[10]).toBe(code);
  for (const each of said) expect(['ticket', code]).toContain(each);

  const rows = await both.service.place.state.rows<{ readonly event_type: string; readonly outcome: string }>(
    'SELECT event_type, outcome FROM audit_events WHERE agent_id = ? ORDER BY seq',
    agent.id,
  );
  const isAccess = (row: (typeof rows)[number]): boolean =>
    row.event_type === 'AGENT_CREDENTIAL_ACCESS' && row.outcome === 'success';
  const taken = rows.findIndex(({ event_type: type }) => type === event);
  expect(taken).toBeGreaterThan(0);
  expect(rows.slice(taken).filter(isAccess)).toEqual([]);
  expect(rows.filter(isAccess)).toHaveLength(1 + said.filter((each) => each === 'ticket').length);
});
