import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type AgentChannels,
  CHANNELS,
  type ChannelName,
  type Listed,
  type ChannelAnswer,
  type TestAgent,
  channelOf,
  startAgentChannels,
} from '../support/agent-channels.ts';
import { CREDENTIALS } from '../support/service-steps.ts';
import { pipeline } from '../support/pipeline.ts';

// In the same state REST and MCP decide, count and log the same.

const HOUR_MS = 3_600_000;

/** Limits that the states reach; small, since each state runs on every channel. */
const FLOOR = 20;
const MISSES = 4;

/** A token's name that only one agent asks for. */
const ITS_OWN = 'its own token';
const ownToken = ({ id }: Pick<TestAgent, 'id'>): string => `token-of-${id}`;

let both: AgentChannels;
const grant = (agentId: string, body: object): Promise<unknown> =>
  both.admin('POST', `/api/agents/${agentId}/grants`, body);

/** A state of an agent, and the services that it asks for one after another, on each channel. */
interface State {
  readonly asks: readonly string[];
  /** The codes of the answers; the rest is compared between channels. */
  readonly says: readonly string[];
  /** Of each agent, before a client is connected to it. */
  readonly arrange?: (agentId: string) => Promise<unknown>;
  /** Milliseconds that go by before that. */
  readonly age?: number;
  /** Of each agent, once a client is connected to it. */
  readonly enter?: (agentId: string) => Promise<unknown>;
  /** Of the account, while the agents ask. */
  readonly begin?: () => Promise<unknown>;
  readonly end?: () => Promise<unknown>;
}

const times = <T>(count: number, what: T): readonly T[] => Array.from({ length: count }, () => what);
const ruled =
  (rule: object): NonNullable<State['arrange']> =>
  (agentId) =>
    both.policyOn('agent', agentId, rule);

const STATES: Readonly<Record<string, State>> = {
  'a grant': { asks: ['github', 'github'], says: ['ticket', 'ticket'] },
  'a grant with an end, to be refreshed': {
    arrange: (id) => grant(id, { serviceName: 'daily', expiresInSeconds: 86_400, refreshPolicy: 'auto' }),
    asks: ['daily'],
    says: ['ticket'],
  },
  'no grant, until misses are used up': {
    asks: [...times(MISSES + 2, 'nothing'), 'github'],
    says: [...times(MISSES, 'NO_GRANT'), 'RATE_LIMITED', 'RATE_LIMITED', 'ticket'],
  },
  'a grant that lapsed': {
    arrange: (id) => grant(id, { serviceName: 'hourly', expiresInSeconds: 3_600 }),
    age: HOUR_MS,
    asks: ['hourly', 'hourly'],
    says: ['GRANT_EXPIRED', 'NO_GRANT'],
  },
  'a grant that was revoked': {
    enter: (id) => both.admin('DELETE', `/api/agents/${id}/grants/github`),
    asks: ['github'],
    says: ['NO_GRANT'],
  },
  'names that are none': {
    asks: ['a/b', '', 'x'.repeat(129), 'a\u0007b'],
    says: times(4, 'INVALID_SERVICE'),
  },
  'a locked vault': {
    begin: () => both.admin('POST', '/api/vault/lock'),
    end: () => both.admin('POST', '/api/vault/unlock'),
    asks: ['github', 'nothing', 'a/b'],
    says: ['VAULT_LOCKED', 'VAULT_LOCKED', 'INVALID_SERVICE'],
  },
  'a suspended agent': {
    enter: (id) => both.admin('POST', `/api/agents/${id}/suspend`),
    asks: times(3, 'github'),
    says: times(3, 'AGENT_INACTIVE'),
  },
  'a deleted agent': {
    enter: (id) => both.admin('DELETE', `/api/agents/${id}`),
    asks: ['github', 'a/b'],
    says: ['AGENT_INACTIVE', 'AGENT_INACTIVE'],
  },
  'an address that a policy allows': {
    arrange: ruled({ type: 'ip_allowlist', cidrs: ['127.0.0.1/32'] }),
    asks: ['github'],
    says: ['ticket'],
  },
  'an address that it does not': {
    arrange: ruled({ type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] }),
    asks: ['github', 'nothing'],
    says: ['POLICY_DENIED', 'NO_GRANT'],
  },
  'a policy’s own rate': {
    arrange: ruled({ type: 'rate_limit', limit: 2, windowSeconds: 90 }),
    asks: times(4, 'github'),
    says: ['ticket', 'ticket', 'POLICY_DENIED', 'POLICY_DENIED'],
  },
  'a lifetime of uses': {
    arrange: ruled({ type: 'max_usage', limit: 2 }),
    asks: times(3, 'github'),
    says: ['ticket', 'ticket', 'POLICY_DENIED'],
  },
  'a token’s policy': {
    arrange: async (id) => {
      const serviceName = ownToken({ id });
      await both.admin('POST', '/api/tokens', { serviceName, tokenType: 'PlainText' });
      await grant(id, { serviceName });
      await both.policyOn('token', serviceName, { type: 'manual_approval' });
    },
    asks: [ITS_OWN, 'github'],
    says: ['POLICY_DENIED', 'ticket'],
  },
  'no webhook': {
    begin: () => both.admin('DELETE', '/api/webhook'),
    end: () => both.bind(),
    asks: ['github', 'nothing'],
    says: ['WEBHOOK_NOT_CONFIGURED', 'NO_GRANT'],
  },
  'more than the floor': {
    asks: times(FLOOR + 2, 'github'),
    says: [...times(FLOOR, 'ticket'), 'RATE_LIMITED', 'RATE_LIMITED'],
  },
  'a log that takes nothing': {
    begin: async () => {
      heal = await both.service.place.state.refuseEvents();
    },
    end: () => heal(),
    asks: ['github', 'nothing'],
    says: ['AUDIT_UNAVAILABLE', 'AUDIT_UNAVAILABLE'],
  },
};
let heal: () => Promise<void>;

/** The outcome of a state on one channel. */
interface Outcome {
  readonly said: readonly ChannelAnswer[];
  readonly listed: Listed;
  /** How often the agent may still miss, and then still ask at all. */
  readonly left: { readonly misses: number; readonly requests: number };
}

interface Player {
  readonly channel: ChannelName;
  readonly agent: TestAgent;
}

/** @returns the outcome of each player, in their order */
async function play(state: State, players: readonly Player[]): Promise<Outcome[]> {
  const { arrange, age = 0, enter, begin, end, asks } = state;
  await Promise.all(players.map(async ({ agent }) => arrange?.(agent.id)));
  both.wait(age);
  const ready = await Promise.all(
    players.map(async ({ channel, agent }) => ({ agent, channel: await channelOf(both, agent, channel) })),
  );
  await Promise.all(ready.map(async ({ agent }) => enter?.(agent.id)));
  await begin?.();
  const told = await Promise.all(
    ready.map(async ({ agent, channel }) => {
      const said: ChannelAnswer[] = [];
      for (const asked of asks) said.push(await channel.ask(asked === ITS_OWN ? ownToken(agent) : asked));
      return { said, listed: await channel.list() };
    }),
  );
  await end?.();
  const left = await Promise.all(ready.map(({ agent }) => whatIsLeft(agent)));
  return ready.map(({ agent }, n) => nameless(agent.id, { ...told[n], left: left[n] }) as Outcome);
}

/** The same for every agent. */
const nameless = (agentId: string, value: object): object =>
  JSON.parse(JSON.stringify(value).replaceAll(agentId, 'its own')) as object;

/** Asked for at REST, whichever channel counted before. */
async function whatIsLeft({ apiKey }: TestAgent): Promise<Outcome['left']> {
  const headers = { authorization: `Bearer ${apiKey}` };
  const ask = async (path: string, count: number, status: number): Promise<number> => {
    const statuses = await pipeline(both.service.running.url, times(count, { path, headers }));
    return statuses.filter((each) => each === status).length;
  };
  const misses = await ask(`${CREDENTIALS}?service=to-be-missed`, MISSES + 1, 404);
  return { misses, requests: await ask(CREDENTIALS, FLOOR + 1, 200) };
}

/** Everything that the log says about an agent's accesses, without what tells one agent and event from another. */
async function accessesOf(agentId: string): Promise<object[]> {
  const rows = await both.service.place.state.rows<{ readonly detail: string | null }>(
    `SELECT event_type, outcome, service_name, event_count, detail FROM audit_events
     WHERE agent_id = ? AND event_type IN ('AGENT_CREDENTIAL_ACCESS', 'GRANT_EXPIRED') ORDER BY seq`,
    agentId,
  );
  return rows.map(({ detail, ...row }) => {
    const { since: _since, ...told } = JSON.parse(detail ?? '{}') as Record<string, unknown>;
    return nameless(agentId, { ...row, ...told });
  });
}

/** Of each state and channel. */
const outcomes = new Map<string, Outcome>();
const logs = new Map<string, object[]>();
const at = (name: string, channel: ChannelName): string => `${name} at ${channel}`;

beforeAll(async () => {
  both = await startAgentChannels({
    SV_LIMIT_AGENT_CREDENTIALS: `${FLOOR}`,
    SV_LIMIT_AGENT_NO_GRANT: `${MISSES}`,
  });
  const all: [string, Player][] = [];
  for (const [name, state] of Object.entries(STATES)) {
    const players = await Promise.all(
      CHANNELS.map(async (channel) => ({ channel, agent: await both.agent('github') })),
    );
    const played = await play(state, players);
    players.forEach((player, n) => {
      all.push([at(name, player.channel), player]);
      outcomes.set(at(name, player.channel), played[n] as Outcome);
    });
  }
  // Then what was only counted is written down.
  await both.service.running.close();
  for (const [where, { agent }] of all) logs.set(where, await accessesOf(agent.id));
});
afterAll(() => both.stop());

describe.each(Object.entries(STATES))('%s', (name, { says }) => {
  test('REST answers with the expected codes', () => {
    expect(outcomes.get(at(name, 'REST'))?.said.map(({ code }) => code)).toEqual(says);
  });

  // spec: Either an agent key (Authorization: Bearer svagent_<key>) or an OAuth 2.1 session token (svsess_...). Both resolve to the same agent, grants and policies.
  // spec: GRANT_EXPIRED | Grant lapsed (deleted on this call).
  // spec: VAULT_LOCKED | Vault locked.
  // spec: WEBHOOK_NOT_CONFIGURED | No webhook bound.
  test.each(['MCP by key', 'MCP by session'] as const)(
    '%s has the answers, counters and events of REST',
    (channel) => {
      expect(outcomes.get(at(name, channel))).toEqual(outcomes.get(at(name, 'REST')));
      expect(logs.get(at(name, channel))).toEqual(logs.get(at(name, 'REST')));
    },
  );

  test('the log has every decision', () => {
    const log = logs.get(at(name, 'MCP by session')) as { code?: string; event_count: number | null }[];
    const logged = log.flatMap(({ code = 'ticket', event_count: count }) => times(count ?? 1, code));
    for (const code of new Set(says)) {
      const asOften = (codes: readonly string[]): number => codes.filter((each) => each === code).length;
      if (code === 'AUDIT_UNAVAILABLE') expect(asOften(logged)).toBe(0);
      else expect([code, asOften(logged)]).toEqual([code, expect.toSatisfy((n) => n >= asOften(says))]);
    }
  });
});
