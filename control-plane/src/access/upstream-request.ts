import {
  type HeaderPairs,
  httpRequestFieldsThatTravel,
  isFieldValue,
  requestFieldsThatTravel,
  upstreamTarget,
  withInjectedFields,
  withQuery,
} from '@svault/shared';
import type { HttpRequest } from '@svault/shared/request-rules';
import { type ProxyKind, parseTemplates } from '../core/proxy.ts';
import type { ProxySubject } from './subject.ts';

/** Fields of which the first counts; repeated others become a list (RFC 9110 section 5.3). */
const SINGLE: ReadonlySet<string> = new Set(['content-type', 'user-agent']);

/** PROTOCOL.md section 2: the content type where the caller sent none. */
const OCTETS = 'application/octet-stream';

const TRAVELLING = { mcp: requestFieldsThatTravel, http: httpRequestFieldsThatTravel } as const;

/**
 * Selects the fields of a caller's header to forward (PROTOCOL.md sections 5.6 and 5.8), without malformed values and one
 * value each. A body has a content type.
 *
 * @param pairs fields as received
 */
export function outgoingFields(
  kind: ProxyKind,
  pairs: HeaderPairs,
  body: Uint8Array,
): Readonly<Record<string, string>> {
  const joined = new Map<string, string>();
  for (const [name, value] of TRAVELLING[kind](pairs)) {
    if (!isFieldValue(value)) continue;
    const known = joined.get(name);
    if (known === undefined) joined.set(name, value);
    else if (!SINGLE.has(name)) joined.set(name, `${known}, ${value}`);
  }
  if (body.byteLength > 0 && !joined.has('content-type')) joined.set('content-type', OCTETS);
  return Object.fromEntries(joined);
}

/** The fields that an upstream gets, but for a credential: the caller's, and those of the proxy's templates. */
export const sentFields = (
  kind: ProxyKind,
  { fields, body }: Pick<HttpRequest, 'fields' | 'body'>,
  headerTemplates: Readonly<Record<string, string>>,
): HeaderPairs =>
  withInjectedFields(Object.entries(outgoingFields(kind, fields, body)), Object.entries(headerTemplates));

type Sender = Pick<ProxySubject, 'kind' | 'upstreamUrl' | 'headerTemplates' | 'queryTemplates'>;

/**
 * What a proxy sends to its upstream for a request, but for the credential, on which no rule depends.
 *
 * @param received.target the path and query below the base URL of an HTTP API; undefined for an MCP server
 */
export function upstreamRequest(
  { kind, upstreamUrl, ...subject }: Sender,
  received: Pick<HttpRequest, 'method' | 'fields' | 'body'> & { readonly target: string | undefined },
): HttpRequest {
  const { method, target } = received;
  const origin = new URL(upstreamUrl);
  const queryTemplates = Object.entries(parseTemplates(subject.queryTemplates) ?? {});
  return {
    origin,
    method,
    target:
      target === undefined
        ? `${origin.pathname}${origin.search}`
        : withQuery(upstreamTarget(upstreamUrl, target), queryTemplates),
    fields: sentFields(kind, received, parseTemplates(subject.headerTemplates) ?? {}),
    body: received.body,
  };
}
