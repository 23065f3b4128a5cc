import {
  type HeaderPairs,
  httpRequestFieldsThatTravel,
  isFieldValue,
  requestFieldsThatTravel,
} from '@svault/shared';
import type { ProxyKind } from '../core/proxy.ts';

/** Fields of which the first counts; repeated others become a list (RFC 9110 section 5.3). */
const SINGLE: ReadonlySet<string> = new Set(['content-type', 'user-agent']);

/** PROTOCOL.md section 2: the content type where the caller sent none. */
const OCTETS = 'application/octet-stream';

const TRAVELLING = { mcp: requestFieldsThatTravel, http: httpRequestFieldsThatTravel } as const;

/**
 * Selects the fields of a caller's header to forward (PROTOCOL.md sections 5.6 and 5.8), without malformed values and one value each. A
 * body has a content type.
 *
 * @param pairs fields as received
 */
export function outgoingFields(
  kind: ProxyKind,
  pairs: HeaderPairs,
  body: Uint8Array,
): Readonly<Record<string, string>> {
  const joined: Record<string, string> = {};
  for (const [name, value] of TRAVELLING[kind](pairs)) {
    if (!isFieldValue(value)) continue;
    const known = joined[name];
    if (known === undefined) joined[name] = value;
    else if (!SINGLE.has(name)) joined[name] = `${known}, ${value}`;
  }
  if (body.byteLength > 0) joined['content-type'] ??= OCTETS;
  return joined;
}
