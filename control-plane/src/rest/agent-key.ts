import type { IncomingMessage } from 'node:http';
import { occursTwice } from '@svault/server-kit/repeated-header';

/**
 * The agent's key in a request's headers (specification, "Agent key on the REST endpoint"): `Authorization` with
 * scheme Bearer is the key whatever it holds; another scheme is ignored and `x-agent-key` is read. `?key=` is not.
 *
 * @returns undefined where there is no key; a text that is no key (so that it is refused as malformed) where a header
 *   occurs twice, since nobody could tell which one is meant
 */
export function presentedAgentKey({ headers, rawHeaders }: IncomingMessage): string | undefined {
  const { authorization } = headers;
  if (authorization !== undefined) {
    if (occursTwice(rawHeaders, 'authorization')) return '';
    const bearer = BEARER.exec(authorization);
    if (bearer !== null) return bearer[1] ?? '';
  }
  // Node joins repeated headers of this name by a comma, which no key contains.
  const agentKey = headers['x-agent-key'];
  return agentKey === undefined || agentKey === '' ? undefined : String(agentKey);
}

/** RFC 9110 section 11.1: the scheme's case does not matter. Without a space it is another scheme's name. */
const BEARER = /^bearer(?: +(.*))?$/is;
