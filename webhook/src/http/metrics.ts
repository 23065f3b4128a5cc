import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Meters } from '@svault/server-kit/meters';

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
export function countAnswers(
  meters: Pick<Meters, 'counter'>,
): (req: IncomingMessage, res: ServerResponse) => void {
  const count = meters.counter('svault_webhook_answers_total', 'Answers by endpoint and status.', [
    'endpoint',
    'status',
  ]);
  return ({ url = '' }, res) => {
    const path = url.split('?', 1)[0] ?? '';
    const endpoint = ENDPOINTS.has(path) ? path : 'other';
    res.on('finish', () => count({ endpoint, status: String(res.statusCode) }));
  };
}

const AGENT_KEY_HEADERS = ['x-agent-key', 'x-mcp-key'] as const;

/**
 * Counts keys that clients repeat when they follow the redirect (PROTOCOL.md section 5.4). Their values are not read;
 * the count tells an operator that agents show their keys to the webhook.
 *
 * @returns a function to call with each request for a credential; it reads `Authorization` if the query has a ticket
 */
export function createStrayCredentialCounter(
  meters: Pick<Meters, 'counter'>,
): (req: IncomingMessage) => void {
  const count = meters.counter(
    'svault_webhook_stray_credentials_total',
    'Keys that arrived at /v1/credential beside a ticket and were ignored, by header.',
    ['header'],
  );
  return ({ headers, url = '' }) => {
    const hasQueryTicket = /[?&]ticket=/.test(url);
    if (hasQueryTicket && headers.authorization !== undefined) count({ header: 'authorization' });
    for (const header of AGENT_KEY_HEADERS) if (headers[header] !== undefined) count({ header });
  };
}
