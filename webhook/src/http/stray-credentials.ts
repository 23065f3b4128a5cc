import type { IncomingMessage } from 'node:http';
import type { Metrics } from '../metrics.ts';

const AGENT_KEY_HEADERS = ['x-agent-key', 'x-mcp-key'] as const;

/**
 * Counts keys that clients repeat when they follow the redirect (PROTOCOL.md section 5.4). Their values are not read;
 * the count tells an operator that agents show their keys to the webhook.
 *
 * @returns a function to call with each request for a credential; it reads `Authorization` if the query has a ticket
 */
export const createStrayCredentialCounter =
  (count: Metrics['strayCredentials']) =>
  ({ headers, url = '' }: IncomingMessage): void => {
    const hasQueryTicket = /[?&]ticket=/.test(url);
    if (hasQueryTicket && headers.authorization !== undefined) count({ header: 'authorization' });
    for (const header of AGENT_KEY_HEADERS) if (headers[header] !== undefined) count({ header });
  };
