import { type HeaderPairs, isFieldValue, requestFieldsThatTravel } from '@svault/shared';

/** Fields of which one counts; of the others a list is made (RFC 9110 section 5.3). */
const SINGLE: ReadonlySet<string> = new Set(['content-type', 'user-agent']);

/** protocol.md section 2: where the caller sent none. */
const OCTETS = 'application/octet-stream';

export interface OutgoingFields {
  /** Undefined where there is no body and the caller said nothing. */
  readonly contentType: string | undefined;
  /** The others that travel, one value each. */
  readonly fields: Readonly<Record<string, string>>;
}

/**
 * What of a caller's header goes on: the fields that travel (protocol.md 5.6), without values that no field may have.
 *
 * @param pairs as received
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
