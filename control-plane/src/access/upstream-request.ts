import { type HeaderPairs, isFieldValue, requestFieldsThatTravel, withInjectedFields } from '@svault/shared';
import type { HttpRequest } from '@svault/shared/request-rules';
import type { ProxySubject } from './subject.ts';

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
  const joined: Record<string, string> = {};
  for (const [name, value] of requestFieldsThatTravel(pairs)) {
    if (!isFieldValue(value)) continue;
    const known = joined[name];
    if (known === undefined) joined[name] = value;
    else if (!SINGLE.has(name)) joined[name] = `${known}, ${value}`;
  }
  if (body.byteLength > 0) joined['content-type'] ??= OCTETS;
  return joined;
}

type Received = Pick<HttpRequest, 'method' | 'fields' | 'body'>;

/** The fields that an upstream gets, but for a credential: the caller's, and those of the proxy's templates. */
export const sentFields = (
  { fields, body }: Omit<Received, 'method'>,
  headerTemplates: Readonly<Record<string, string>>,
): HeaderPairs =>
  withInjectedFields(Object.entries(outgoingFields(fields, body)), Object.entries(headerTemplates));

/** What a proxy sends to its upstream for a request, but for the credential, on which no rule depends. */
export function upstreamRequest(
  { upstreamUrl, headerTemplates }: Pick<ProxySubject, 'upstreamUrl' | 'headerTemplates'>,
  { method, fields, body }: Received,
): HttpRequest {
  const origin = new URL(upstreamUrl);
  const templates = JSON.parse(headerTemplates ?? '{}') as Record<string, string>;
  const target = `${origin.pathname}${origin.search}`;
  return { origin, method, target, fields: sentFields({ fields, body }, templates), body };
}
