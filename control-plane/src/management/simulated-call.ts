import { utf8 } from '@svault/shared';
import type { HttpRequest } from '@svault/shared/request-rules';
import { type Proxy, templatesOf } from '../core/proxy.ts';

/** What a proxy would be asked for in a simulation. */
export interface SimulatedCall {
  /** Undefined: POST for a message of MCP, else GET. */
  readonly method?: string | undefined;
  /** With the query, at the upstream; undefined: those of the proxy's upstream URL. */
  readonly path?: string | undefined;
  /** That a message of MCP calls, with its arguments. */
  readonly tool?: string | undefined;
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
  /** Of a message of MCP. */
  readonly mcpMethod?: string | undefined;
}

/** The request that the upstream of a proxy would get. */
export function simulatedRequest(
  proxy: Proxy,
  { method, path, tool, arguments: given = {}, mcpMethod }: SimulatedCall,
): HttpRequest {
  const origin = new URL(proxy.upstreamUrl);
  const message =
    tool === undefined
      ? mcpMethod && { method: mcpMethod }
      : { method: 'tools/call', params: { name: tool, arguments: given } };
  const templates = Object.entries(templatesOf(proxy));
  return {
    origin,
    method: method ?? (message ? 'POST' : 'GET'),
    target: path ?? `${origin.pathname}${origin.search}`,
    fields: message ? [['content-type', 'application/json'], ...templates] : templates,
    body: message ? utf8(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })) : new Uint8Array(),
  };
}
