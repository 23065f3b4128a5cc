import { type HeaderPairs, isFieldValue, requestFieldsThatTravel } from '@svault/shared';

/** Fields of which the first counts; repeated others become a list (RFC 9110 section 5.3). */
const SINGLE: ReadonlySet<string> = new Set(['content-type', 'user-agent']);

/** PROTOCOL.md section 2: the content type where the caller sent none. */
const OCTETS = 'application/octet-stream';

/**
 * Selects the fields of a caller's header to forward (PROTOCOL.md section 5.6), without malformed values and one value each. A
 * body has a content type.
 *
 * @param pairs fields as received
 */
export function outgoingFields(pairs: HeaderPairs, body: Uint8Array): Readonly<Record<string, string>> {
  const joined = new Map<string, string>();
  for (const [name, value] of requestFieldsThatTravel(pairs)) {
    if (!isFieldValue(value)) continue;
    const known = joined.get(name);
    if (known === undefined) joined.set(name, value);
    else if (!SINGLE.has(name)) joined.set(name, `${known}, ${value}`);
  }
  if (body.byteLength > 0 && !joined.has('content-type')) joined.set('content-type', OCTETS);
  return Object.fromEntries(joined);
}
