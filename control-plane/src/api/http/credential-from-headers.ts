import type { IncomingMessage } from 'node:http';
import { occursTwice } from '@svault/server-kit/repeated-header';

/**
 * The key in a request's headers (specification, "Authentication"): `Authorization` with scheme Bearer is the key whatever
 * it holds; another scheme is ignored and the header of its own kind is read. `?key=` is not.
 *
 * @param ownHeader `x-agent-key`, or `x-mcp-key` for a proxy's
 * @returns undefined where there is no key; a text that is no key (so that it is refused as malformed) where a header
 *   occurs twice, since nobody could tell which one is meant
 */
export function credentialFromHeaders(
  { headers, rawHeaders }: IncomingMessage,
  ownHeader: 'x-agent-key' | 'x-mcp-key',
): string | undefined {
  const { authorization } = headers;
  if (authorization !== undefined) {
    if (occursTwice(rawHeaders, 'authorization')) return '';
    const bearer = BEARER.exec(authorization);
    if (bearer !== null) return bearer[1] ?? '';
  }
  // Node joins repeated headers of these names by a comma, which no key contains.
  const key = headers[ownHeader];
  return key === undefined || key === '' ? undefined : String(key);
}

/** RFC 9110 section 11.1: the scheme's case does not matter. Without a space it is another scheme's name. */
const BEARER = /^bearer(?: +(.*))?$/is;
