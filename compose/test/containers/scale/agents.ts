import { type Answer, type Call, bearer, done } from './doors.ts';

export const CREDENTIALS = '/api/agents/credentials';
const MCP = '/api/agents/mcp';
export const PROXY = '/api/proxy/mcp';

export interface Agent {
  readonly id: string;
  readonly apiKey: string;
}

/** Makes an agent with MCP on and grants. @param admin with the admin key */
export async function makeAgent(admin: Call, ...serviceNames: readonly string[]): Promise<Agent> {
  const body = { name: 'an agent', mcpEnabled: true };
  const { agent, apiKey } = await done(admin('POST', '/api/agents', { body }));
  for (const serviceName of serviceNames)
    await done(admin('POST', `/api/agents/${agent.id}/grants`, { body: { serviceName } }));
  return { id: agent.id, apiKey };
}

/** Its list of grants. */
export const listGrants = (
  door: Call,
  { apiKey }: Pick<Agent, 'apiKey'>,
  patienceMs?: number,
): Promise<Answer> => bearer(door, apiKey)('GET', CREDENTIALS, patience(patienceMs));

/** A credential over REST: 307 where it may have it. */
export const askFor = (
  door: Call,
  { apiKey }: Pick<Agent, 'apiKey'>,
  serviceName: string,
  patienceMs?: number,
): Promise<Answer> =>
  bearer(door, apiKey)('GET', `${CREDENTIALS}?service=${serviceName}`, patience(patienceMs));

const patience = (patienceMs: number | undefined) => (patienceMs === undefined ? {} : { patienceMs });

/** One JSON-RPC message. @param path of the MCP server, or of the proxy */
export const rpc = (
  door: Call,
  key: string,
  method: string,
  params: object = {},
  path = MCP,
): Promise<Answer> =>
  bearer(door, key)('POST', path, {
    body: { jsonrpc: '2.0', id: 1, method, params },
    headers: { accept: 'application/json, text/event-stream' },
  });

export const callTool = (door: Call, key: string, name: string, args: object = {}): Promise<Answer> =>
  rpc(door, key, 'tools/call', { name, arguments: args });

/** Attaches a policy of one rule. @returns its id */
export async function attach(
  admin: Call,
  targetType: 'agent' | 'proxy' | 'token',
  targetId: string,
  rule: object,
): Promise<string> {
  const { id } = await done(admin('POST', '/api/policies', { body: { name: 'a rule', rules: [rule] } }));
  await done(admin('POST', `/api/policies/${id}/attachments`, { body: { targetType, targetId } }));
  return id as string;
}

export interface Proxy {
  readonly id: string;
  readonly key: string;
}

/** @param settings beside its name and upstream */
export async function makeProxy(admin: Call, settings: object = {}): Promise<Proxy> {
  const body = { name: 'a proxy', upstreamUrl: 'https://mcp.example.com/mcp', ...settings };
  const { proxy, key } = await done(admin('POST', '/api/proxies', { body }));
  return { id: proxy.id, key };
}
