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
}

export const PROXY: Endpoint = { of: 'the MCP proxy', method: 'POST', path: '/api/proxy/mcp' };
