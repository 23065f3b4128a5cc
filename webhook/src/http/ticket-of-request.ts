import type { IncomingMessage } from 'node:http';
import { headerPairs } from '@svault/shared';

const BEARER = /^Bearer +([^ ]+)$/i;

/**
 * The ticket of `GET /v1/credential` (protocol section 5.4): the one `ticket` parameter, else the bearer of the one
 * `Authorization` header. Beside a ticket in the query that header is not looked at: some clients carry an agent's key
 * there over the redirect.
 *
 * @returns undefined where there is none, or more than one in the same place
 */
export function credentialTicketOf(req: IncomingMessage): string | undefined {
  const target = req.url ?? '';
  const at = target.indexOf('?');
  const given = at < 0 ? [] : new URLSearchParams(target.slice(at)).getAll('ticket');
  if (given.length === 0) return bearerTicketOf(req);
  return given.length === 1 ? given[0] : undefined;
}

/**
 * The ticket of `POST /v1/store`: a bearer, never in the address, which logs and histories keep.
 *
 * @returns undefined where there is none, or more than one
 */
export function bearerTicketOf(req: IncomingMessage): string | undefined {
  // Node keeps the first of two `Authorization` headers and drops the rest without a word.
  const given = headerPairs(req.rawHeaders).filter(([name]) => name.toLowerCase() === 'authorization');
  const [only, ...others] = given;
  return only === undefined || others.length > 0 ? undefined : BEARER.exec(only[1].trim())?.[1];
}
