import type { Backstage } from './backstage.ts';
import type { Row } from './row.ts';

/** A row whose endpoint does not exist yet: played at what will stand behind it. */
export interface LaterRow {
  /** Answers 404 until its release, which moves the row to the plays of the endpoints. */
  readonly endpoint: Endpoint;
  readonly play: (backstage: Backstage, row: Row) => Promise<void>;
}

export interface Endpoint {
  /** Why the row is a later one: what it waits for. */
  readonly of: string;
  readonly method: string;
  readonly path: string;
  /** Where it is not 404 until then. */
  readonly untilThen?: number;
}

/** Its path is the one of an agent called `mcp`, which has no POST. */
export const MCP: Endpoint = {
  of: 'the MCP server',
  method: 'POST',
  path: '/api/agents/mcp',
  untilThen: 405,
};
export const PROXY: Endpoint = { of: 'the MCP proxy', method: 'POST', path: '/api/proxy/mcp' };
export const PROXIES: Endpoint = { of: 'the proxies', method: 'GET', path: '/api/proxies' };
