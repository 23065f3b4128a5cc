import { fromBase64url } from '@svault/shared';
import { type FaultyWebhook, startFaultyWebhook } from './faulty-webhook.ts';
import { type Answer, clientOf } from './management-service.ts';
import { type Era, type McpClient, type ToolAnswer, mcpAgentOn, mcpClientOf } from './mcp-steps.ts';
import { type OauthWorld, WIDE_LIMITS, connect, startOauthWorld } from './oauth-steps.ts';
import { CREDENTIALS } from './service-steps.ts';

/** What an agent is told, in the same words at each door. */
export interface Said {
  readonly code: string;
  /** Seconds. */
  readonly retryAfter?: number;
  /** Of a ticket, what is the same for everybody who may have it. */
  readonly ticket?: Readonly<Record<string, unknown>>;
}

/** A service with a webhook, where agents can be had with every door. */
export interface BothDoors extends OauthWorld {
  readonly webhook: FaultyWebhook;
  /** With the owner's admin key; what it does is done. */
  admin(method: string, path: string, body?: object): Promise<Answer['json']>;
  bind(): Promise<unknown>;
  agent(...serviceNames: string[]): Promise<TestAgent>;
  /** Attaches a policy of one rule. */
  policyOn(targetType: 'agent' | 'token', targetId: string, rule: object): Promise<void>;
  wait(ms: number): void;
  stop(): Promise<void>;
}

/** Whose limits and policies are looked at. */
export interface TestAgent {
  readonly id: string;
  readonly apiKey: string;
}

/** @param more settings */
export async function openBothDoors(more: Readonly<Record<string, string>> = {}): Promise<BothDoors> {
  const world = await startOauthWorld({
    ...WIDE_LIMITS,
    SV_EGRESS_ALLOW: '127.0.0.0/8',
    // It belongs to all agents of a test together.
    SV_LIMIT_USER_AGGREGATE: '1000000',
    ...more,
  });
  const { service } = world;
  const webhook = await startFaultyWebhook(service.clock);
  const admin: BothDoors['admin'] = async (method, path, body) => {
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

export type Listed = Said & { readonly grants?: readonly unknown[] };

/** One way for an agent to ask. */
export interface Door {
  /** For a credential. */
  ask(serviceName: string): Promise<Said>;
  /** For the list of grants. */
  list(): Promise<Listed>;
}

/** The doors of MCP stand for its two eras as well. */
export const DOORS = ['REST', 'MCP by key', 'MCP by session'] as const;
export type DoorName = (typeof DOORS)[number];

/** @param agent with MCP on; at the door for sessions a client is connected to it */
export async function doorOf(world: OauthWorld, agent: TestAgent, name: DoorName): Promise<Door> {
  const { service } = world;
  if (name === 'REST') return restDoor(service.running.url, agent.apiKey);
  if (name === 'MCP by key') return mcpDoor(mcpClientOf(service, agent.apiKey), '2025-11-25');
  return sessionDoor(service, (await connect(world, agent.id)).accessToken);
}

/** The door for a session that a test has. */
export const sessionDoor = (service: OauthWorld['service'], accessToken: string): Door =>
  mcpDoor(mcpClientOf(service, accessToken), '2026-07-28');

function restDoor(url: string, apiKey: string): Door {
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

function mcpDoor(client: McpClient, era: Era): Door {
  const denial = ({ answer, content }: ToolAnswer): Said => {
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

/** @throws where the answer is no denial of either door */
function denialIn(body: Answer['json']): Said {
  const { code, retryAfter } = (body ?? {}) as { code?: unknown; retryAfter?: number };
  if (typeof code !== 'string') throw new Error(`no denial: ${JSON.stringify(body)}`);
  // Specification, "Tool errors": MCP has a word of its own for it.
  const same = code === 'INVALID_ARGUMENT' ? 'INVALID_SERVICE' : code;
  return { code: same, ...(retryAfter !== undefined && { retryAfter }) };
}

/** What a ticket allows; who it is for, and which one it is, differs from agent to agent. */
function ticketIn(url: string | null): Said {
  const { origin, pathname, searchParams } = new URL(url ?? '');
  const payload = fromBase64url(searchParams.get('ticket')?.split('.')[1] ?? '');
  const claims = JSON.parse(Buffer.from(payload ?? []).toString()) as Record<string, unknown>;
  const its = { sub: 'its own', jti: 'its own', gnt: typeof claims['gnt'] };
  return { code: 'ticket', ticket: { ...claims, ...its, at: origin + pathname } };
}
