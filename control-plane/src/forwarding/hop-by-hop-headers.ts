import { type HeaderPairs, isFieldValue, requestFieldsThatTravel } from '@svault/shared';

/** Fields of which the first counts; repeated others become a list (RFC 9110 section 5.3). */
const SINGLE: ReadonlySet<string> = new Set(['content-type', 'user-agent']);

/** PROTOCOL.md section 2: the content type where the caller sent none. */
const OCTETS = 'application/octet-stream';

interface OutgoingFields {
  /** Undefined where the caller sent none and no body. */
  readonly contentType: string | undefined;
  /** The other fields to forward, one value each. */
  readonly fields: Readonly<Record<string, string>>;
}

/**
 * Selects the fields of a caller's header to forward (PROTOCOL.md section 5.6), without malformed values.
 *
 * @param pairs fields as received
 */
export function outgoingFields(pairs: HeaderPairs, body: Uint8Array): OutgoingFields {
  const joined = new Map<string, string>();
  for (const [name, value] of requestFieldsThatTravel(pairs)) {
    if (!isFieldValue(value)) continue;
    const known = joined.get(name);
    if (known === undefined) joined.set(name, value);
    else if (!SINGLE.has(name)) joined.set(name, `${known}, ${value}`);
  }
  const contentType = joined.get('content-type') ?? (body.byteLength > 0 ? OCTETS : undefined);
  joined.delete('content-type');
  return { contentType, fields: Object.fromEntries(joined) };
}
