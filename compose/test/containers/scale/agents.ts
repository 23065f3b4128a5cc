import { type Answer, type Call, bearer, done } from './endpoints.ts';

export interface Agent {
  readonly id: string;
  readonly apiKey: string;
}

let made = 0;

/** Makes an agent with MCP on and grants. @param admin with the admin key */
export async function makeAgent(admin: Call, ...serviceNames: readonly string[]): Promise<Agent> {
  const body = { name: `an agent ${++made}`, mcpEnabled: true };
  const { agent, apiKey } = await done(admin('POST', '/api/agents', { body }));
  for (const serviceName of serviceNames)
    await done(
      admin('POST', `/api/agents/${agent.id}/grants`, { body: { allowMissing: true, serviceName } }),
    );
  return { id: agent.id, apiKey };
}

/** A credential over REST: 307 where it may have it. */
export const askFor = (endpoint: Call, { apiKey }: Agent, serviceName: string): Promise<Answer> =>
  bearer(endpoint, apiKey)('GET', `/api/agents/credentials?service=${serviceName}`);

/** One JSON-RPC message. @param path of the MCP server, or of the proxy */
export const rpc = (
  endpoint: Call,
  key: string,
  method: string,
  params: object,
  path: string,
): Promise<Answer> =>
  bearer(endpoint, key)('POST', path, {
    body: { jsonrpc: '2.0', id: 1, method, params },
    headers: { accept: 'application/json, text/event-stream' },
  });

export const callTool = (
  endpoint: Call,
  { apiKey }: Agent,
  name: string,
  args: object = {},
): Promise<Answer> => rpc(endpoint, apiKey, 'tools/call', { name, arguments: args }, '/api/agents/mcp');
