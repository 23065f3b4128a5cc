import { fromBase64url } from '@svault/shared';
import { type FaultyWebhook, startFaultyWebhook } from './faulty-webhook.ts';
import { type Answer, clientOf } from './management-service.ts';
import { type Era, type McpClient, type ToolAnswer, mcpAgentOn, mcpClientOf } from './mcp-steps.ts';
import { type OauthFixture, WIDE_LIMITS, connect, startOauthFixture } from './oauth-client.ts';
import { CREDENTIALS } from './service-steps.ts';

/** An answer to an agent, in the same form for each channel. */
export interface ChannelAnswer {
  readonly code: string;
  /** Seconds. */
  readonly retryAfter?: number;
  /** The claims of a ticket that are the same for every agent. */
  readonly ticket?: Readonly<Record<string, unknown>>;
}

/** A service with a bound webhook, and agents that use every channel. */
export interface AgentChannels extends OauthFixture {
  readonly webhook: FaultyWebhook;
  /** With the owner's admin key. @throws where it fails */
  admin(method: string, path: string, body?: object): Promise<Answer['json']>;
  bind(): Promise<unknown>;
  agent(...serviceNames: string[]): Promise<TestAgent>;
  /** Attaches a policy of one rule. */
  policyOn(targetType: 'agent' | 'token', targetId: string, rule: object): Promise<void>;
  wait(ms: number): void;
  stop(): Promise<void>;
}

export interface TestAgent {
  readonly id: string;
  readonly apiKey: string;
}

/** @param more settings */
export async function startAgentChannels(
  more: Readonly<Record<string, string>> = {},
): Promise<AgentChannels> {
  const world = await startOauthFixture({
    ...WIDE_LIMITS,
    SV_EGRESS_ALLOW: '127.0.0.0/8',
    // Shared by all agents of the account.
    SV_LIMIT_USER_AGGREGATE: '1000000',
    ...more,
  });
  const { service } = world;
  const webhook = await startFaultyWebhook(service.clock);
  const admin: AgentChannels['admin'] = async (method, path, body) => {
    const answer = await service.admin(method, path, { body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.json;
  };
  const bind = (): Promise<unknown> => admin('POST', '/api/webhook/bind', webhook.offer());
  await bind();
  return {
    ...world,
    webhook,
    admin,
    bind,
    agent: (...serviceNames) => mcpAgentOn(service, ...serviceNames),
    policyOn: async (targetType, targetId, rule) => {
      const { id } = await admin('POST', '/api/policies', { name: 'a policy', enabled: true, rules: [rule] });
      await admin('POST', `/api/policies/${id}/attachments`, { targetType, targetId });
    },
    wait: (ms) => service.clock.advance(ms),
    stop: async () => {
      await webhook.shut();
      await service.stop();
    },
  };
}

export type Listed = ChannelAnswer & { readonly grants?: readonly unknown[] };

/** One way for an agent to ask for credentials. */
export interface Channel {
  /** For a credential. */
  ask(serviceName: string): Promise<ChannelAnswer>;
  /** For the list of grants. */
  list(): Promise<Listed>;
}

/** The two channels of MCP speak one protocol version each. */
export const CHANNELS = ['REST', 'MCP by key', 'MCP by session'] as const;
export type ChannelName = (typeof CHANNELS)[number];

/** @param agent with MCP on; for `MCP by session` a client is connected to it */
export async function channelOf(world: OauthFixture, agent: TestAgent, name: ChannelName): Promise<Channel> {
  const { service } = world;
  if (name === 'REST') return restChannel(service.running.url, agent.apiKey);
  if (name === 'MCP by key') return mcpChannel(mcpClientOf(service, agent.apiKey), '2025-11-25');
  return sessionChannel(service, (await connect(world, agent.id)).accessToken);
}

/** The channel of an existing session. */
export const sessionChannel = (service: OauthFixture['service'], accessToken: string): Channel =>
  mcpChannel(mcpClientOf(service, accessToken), '2026-07-28');

function restChannel(url: string, apiKey: string): Channel {
  const call = clientOf(url, { authorization: `Bearer ${apiKey}` });
  return {
    ask: async (serviceName) => {
      const answer = await call('GET', `${CREDENTIALS}?service=${encodeURIComponent(serviceName)}`);
      return answer.status === 307 ? ticketIn(answer.headers.get('location')) : denialIn(answer.json);
    },
    list: async () => {
      const { status, json } = await call('GET', CREDENTIALS);
      return status === 200 ? { code: 'grants', grants: json.grants.map(shown) } : denialIn(json);
    },
  };
}

function mcpChannel(client: McpClient, era: Era): Channel {
  const denial = ({ answer, content }: ToolAnswer): ChannelAnswer => {
    const { json } = answer;
    return denialIn(json?.error?.data ?? content ?? json);
  };
  return {
    ask: async (serviceName) => {
      const answer = await client.call(era, 'get_credential', { service: serviceName });
      const url = answer.content?.credentialUrl;
      return url === undefined ? denial(answer) : ticketIn(url);
    },
    list: async () => {
      const answer = await client.call(era, 'list_credentials', {});
      const { grants } = answer.content ?? {};
      return grants === undefined ? denial(answer) : { code: 'grants', grants: grants.map(shown) };
    },
  };
}

/** The members that both lists have. */
const shown = ({ serviceName, grantExpiresAt, refreshPolicy }: Record<string, unknown>) => ({
  serviceName,
  grantExpiresAt,
  refreshPolicy,
});

/** @throws where the answer is no denial of a channel */
function denialIn(body: Answer['json']): ChannelAnswer {
  const { code, retryAfter } = (body ?? {}) as { code?: unknown; retryAfter?: number };
  if (typeof code !== 'string') throw new Error(`no denial: ${JSON.stringify(body)}`);
  // MCP has another code for it.
  const same = code === 'INVALID_ARGUMENT' ? 'INVALID_SERVICE' : code;
  return { code: same, ...(retryAfter !== undefined && { retryAfter }) };
}

/** The claims of a ticket, without its subject, id and grant, which differ from agent to agent. */
function ticketIn(url: string | null): ChannelAnswer {
  const { origin, pathname, searchParams } = new URL(url ?? '');
  const payload = fromBase64url(searchParams.get('ticket')?.split('.')[1] ?? '');
  const claims = JSON.parse(Buffer.from(payload ?? []).toString()) as Record<string, unknown>;
  const its = { sub: 'its own', jti: 'its own', gnt: typeof claims['gnt'] };
  return { code: 'ticket', ticket: { ...claims, ...its, at: origin + pathname } };
}
