import type { IncomingMessage, ServerResponse } from 'node:http';
import { Counter, type Registry } from 'prom-client';

/** Endpoints that are counted by name; all other paths are one, so that a client cannot make up names. */
const ENDPOINTS: ReadonlySet<string> = new Set([
  '/bind',
  '/v1/exchange',
  '/v1/health',
  '/v1/storage',
  '/v1/store',
  '/v1/credential',
  '/v1/proxy',
]);

/** Counts answers by endpoint and status. */
export function countAnswers(registry: Registry): (req: IncomingMessage, res: ServerResponse) => void {
  const counter = new Counter({
    name: 'svault_webhook_answers_total',
    help: 'Answers by endpoint and status.',
    labelNames: ['endpoint', 'status'],
    registers: [registry],
  });
  return ({ url = '' }, res) => {
    const path = url.split('?', 1)[0] ?? '';
    const endpoint = ENDPOINTS.has(path) ? path : 'other';
    res.on('finish', () => counter.inc({ endpoint, status: res.statusCode }));
  };
}

const AGENT_KEY_HEADERS = ['x-agent-key', 'x-mcp-key'] as const;

/**
 * Counts keys that clients repeat when they follow the redirect (PROTOCOL.md section 5.4). Their values are not read;
 * the count tells an operator that agents show their keys to the webhook.
 *
 * @returns a function to call with each request for a credential; it reads `Authorization` if the query has a ticket
 */
export function createStrayCredentialCounter(registry: Registry): (req: IncomingMessage) => void {
  const counter = new Counter({
    name: 'svault_webhook_stray_credentials_total',
    help: 'Keys that arrived at /v1/credential beside a ticket and were ignored, by header.',
    labelNames: ['header'],
    registers: [registry],
  });
  return ({ headers, url = '' }) => {
    const hasQueryTicket = /[?&]ticket=/.test(url);
    if (hasQueryTicket && headers.authorization !== undefined) counter.inc({ header: 'authorization' });
    for (const header of AGENT_KEY_HEADERS) if (headers[header] !== undefined) counter.inc({ header });
  };
}
