import type { Answer, Call } from './management-service.ts';
import { uniqueName } from './unique-name.ts';

export const MCP = '/api/agents/mcp';

/** A call in either era of the protocol: the revisions with a handshake, and the one without. */
export const ERAS = ['2025-11-25', '2026-07-28'] as const;
export type Era = (typeof ERAS)[number];

/** What a tool said. */
export interface ToolAnswer {
  readonly status: number;
  /** What the JSON-RPC answer has as its result; undefined where it is an error. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into results of every shape
  readonly result: any;
  /** `structuredContent` of the result. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  readonly content: any;
  /** The result's one text. */
  readonly text: string;
  readonly answer: Answer;
}

export interface McpClient {
  call2025(tool: string, args?: unknown): Promise<ToolAnswer>;
  call2026(tool: string, args?: unknown): Promise<ToolAnswer>;
  call(era: Era, tool: string, args?: unknown): Promise<ToolAnswer>;
  /** Any other request of the protocol, with what the era wants around it. */
  request(era: Era, method: string, params?: Readonly<Record<string, unknown>>): Promise<Answer>;
  /** A body as it is (text and bytes) or as JSON, and headers beside the client's own. */
  raw(body: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
}

const STANDING = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

/** The per-request envelope of 2026-07-28. */
export const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
} as const;

/** Headers and body of one request, as clients of an era send it. */
export function inEra(
  era: Era,
  method: string,
  params: Readonly<Record<string, unknown>> | undefined,
  id: unknown,
): { readonly headers: Record<string, string>; readonly body: object } {
  if (era === '2025-11-25')
    return {
      headers: method === 'initialize' ? {} : { 'mcp-protocol-version': era },
      body: { jsonrpc: '2.0', id, method, ...(params && { params }) },
    };
  const { name } = params ?? {};
  return {
    headers: {
      'mcp-protocol-version': era,
      'mcp-method': method,
      ...(method === 'tools/call' && typeof name === 'string' && { 'mcp-name': name }),
    },
    body: { jsonrpc: '2.0', id, method, params: { ...params, _meta: ENVELOPE } },
  };
}

/**
 * Speaks MCP by hand, so that tests see every byte.
 *
 * @param credential an agent's key or a session's access token; undefined: none is shown
 */
export function mcpClientOf(service: { readonly anyone: Call }, credential: string | undefined): McpClient {
  const authorization = credential === undefined ? {} : { authorization: `Bearer ${credential}` };
  let nextId = 1;
  const raw: McpClient['raw'] = (body, headers) =>
    service.anyone('POST', MCP, {
      rawBody: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
      headers: { ...STANDING, ...authorization, ...headers },
    });
  const request: McpClient['request'] = (era, method, params) => {
    const { headers, body } = inEra(era, method, params, nextId++);
    return raw(body, headers);
  };
  const call: McpClient['call'] = async (era, name, args) => {
    const answer = await request(era, 'tools/call', { name, ...(args !== undefined && { arguments: args }) });
    const result = answer.json?.result;
    return {
      status: answer.status,
      result,
      content: result?.structuredContent,
      text: result?.content?.[0]?.text ?? '',
      answer,
    };
  };
  return {
    call2025: (tool, args) => call('2025-11-25', tool, args),
    call2026: (tool, args) => call('2026-07-28', tool, args),
    call,
    request,
    raw,
  };
}

/** Makes an agent with MCP on and grants. */
export async function mcpAgentOn(
  service: { readonly admin: Call },
  ...serviceNames: string[]
): Promise<{ readonly id: string; readonly apiKey: string }> {
  const { json } = await service.admin('POST', '/api/agents', {
    body: { name: uniqueName('builder'), mcpEnabled: true },
  });
  const { agent, apiKey } = json as { agent: { id: string }; apiKey: string };
  for (const serviceName of serviceNames)
    await service.admin('POST', `/api/agents/${agent.id}/grants`, {
      body: { allowMissing: true, serviceName },
    });
  return { id: agent.id, apiKey };
}
