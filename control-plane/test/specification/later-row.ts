import type { Backstage } from './backstage.ts';
import type { Row } from './row.ts';

/** A row whose endpoint does not exist yet: played at what will stand behind it. */
export interface LaterRow {
  /** Answers 404 until its release, which moves the row to the plays of the endpoints. */
  readonly endpoint: Endpoint;
  readonly play: (backstage: Backstage, row: Row) => Promise<void>;
}

export interface Endpoint {
  readonly method: string;
  readonly path: string;
}

/** Asked by GET: its path is the one of an agent called `mcp`, which has no POST. */
export const MCP: Endpoint = { method: 'GET', path: '/api/agents/mcp' };
export const PROXY: Endpoint = { method: 'POST', path: '/api/proxy/mcp' };
export const PROXIES: Endpoint = { method: 'GET', path: '/api/proxies' };
export const oauth = (name: string): Endpoint => ({ method: 'POST', path: `/api/mcp-oauth/${name}` });
