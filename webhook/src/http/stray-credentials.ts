import type { IncomingMessage } from 'node:http';
import { Counter, type Registry } from 'prom-client';

const AGENT_KEY_HEADERS = ['x-agent-key', 'x-mcp-key'] as const;

/**
 * Counts keys that clients carry over the redirect although nobody asked for them (protocol section 5.4). Their values
 * are not looked at; the count tells an operator that agents show their keys to the webhook.
 *
 * @returns what is to be called with each request for a credential, and whether its ticket stood in the query
 */
export function createStrayCredentialCounter(
  registry: Registry,
): (req: IncomingMessage, hasQueryTicket: boolean) => void {
  const counter = new Counter({
    name: 'svault_webhook_stray_credentials_total',
    help: 'Keys that arrived at /v1/credential beside a ticket and were ignored, by header.',
    labelNames: ['header'],
    registers: [registry],
  });
  return ({ headers }, hasQueryTicket) => {
    if (hasQueryTicket && headers.authorization !== undefined) counter.inc({ header: 'authorization' });
    for (const header of AGENT_KEY_HEADERS) if (headers[header] !== undefined) counter.inc({ header });
  };
}
