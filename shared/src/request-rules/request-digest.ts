import { foldedName } from '../proxy-headers.ts';
import { contentDigest } from '../signing/content-digest.ts';
import type { HeaderPairs } from '../signing/message.ts';
import { type Ambiguity, AmbiguousRequest } from './request-denial.ts';
import { CALL_TOOL, WITHOUT_MESSAGE, isHandshake, readMcpMessage } from './mcp-message.ts';
import { memberSpan } from './member-span.ts';

/** A request to an upstream, as a person decides on it. */
export interface ApprovableRequest {
  /** `http`: of an HTTP API (PROTOCOL.md section 5.8); `mcp`: of a server of MCP. */
  readonly kind: 'http' | 'mcp';
  readonly method: string;
  /** Those that travel, in any case and order. */
  readonly fields: HeaderPairs;
  /** All of it, empty if there is none; or its {@link DigestedRequest.bodyDigest}. */
  readonly body: Uint8Array | string;
}

/** What a request is known by once a person has decided on it (PROTOCOL.md section 5.10). */
export interface DigestedRequest {
  /** `sha-256=:…:`, of the covered fields and the body. */
  readonly digest: string;
  /** `sha-256=:…:`, for a body that is too long to be sent along. */
  readonly bodyDigest: string;
  /** What that is of, where it is at hand: nobody should be shown anything else as the body that is approved. */
  readonly coveredBody?: Uint8Array;
  /** Its method of JSON-RPC, where the body is a message and at hand. */
  readonly mcp?: string;
  /** That it calls. */
  readonly tool?: string;
  /** A message without which no client of MCP gets as far as a call, or an answer to the server. */
  readonly isHandshake?: true;
}

/** PROTOCOL.md APR-16: what these hold changes from one attempt to the next, and not what is asked. */
const UNCOVERED: ReadonlySet<string> = new Set([
  'accept-encoding',
  'accept-language',
  'b3',
  'baggage',
  'date',
  'idempotency-key',
  'last-event-id',
  'mcp-protocol-version',
  'mcp-session-id',
  'sentry-trace',
  'traceparent',
  'tracestate',
  'user-agent',
  'x-amz-date',
  'x-amz-security-token',
  'x-amz-user-agent',
  'x-amzn-trace-id',
  'x-client-request-id',
  'x-correlation-id',
  'x-goog-api-client',
  'x-ms-client-request-id',
  'x-ms-date',
  'x-request-id',
]);
const UNCOVERED_PREFIXES: readonly string[] = ['amz-sdk-', 'x-b3-', 'x-datadog-', 'x-stainless-'];

/** The fields of a request that a decision covers: by name, in lower case, lines of one name joined. */
export function coveredFields(fields: HeaderPairs): HeaderPairs {
  const byName = new Map<string, string>();
  for (const [received, value] of fields) {
    const name = received.toLowerCase();
    if (UNCOVERED.has(name) || UNCOVERED_PREFIXES.some((prefix) => name.startsWith(prefix))) continue;
    const former = byName.get(name);
    byName.set(name, former === undefined ? value : `${former}, ${value}`);
  }
  return [...byName].toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/**
 * What a request is known by (PROTOCOL.md section 5.10).
 *
 * @returns or why a message of MCP cannot be read in one way only
 */
export function requestDigest(
  request: ApprovableRequest,
): DigestedRequest | { readonly ambiguity: Ambiguity } {
  try {
    return digestOf(request);
  } catch (error) {
    if (!(error instanceof AmbiguousRequest)) throw error;
    return { ambiguity: error.ambiguity };
  }
}

/** @throws AmbiguousRequest */
function digestOf({ kind, method, fields, body }: ApprovableRequest): DigestedRequest {
  if (typeof body === 'string') return digestWith(fields, body);
  if (kind === 'mcp' && method === 'POST') return ofMessage(fields, body);
  const isWithoutMessage = kind === 'mcp' && body.byteLength === 0 && WITHOUT_MESSAGE.has(method);
  return { ...ofBody(fields, body), ...(isWithoutMessage && { isHandshake: true }) };
}

function ofMessage(fields: HeaderPairs, body: Uint8Array): DigestedRequest {
  const message = readMcpMessage(new Map(fields.map(([name, value]) => [foldedName(name), value])), body);
  const digested = ofBody(fields, withoutNumbers(body));
  switch (message.kind) {
    case 'response':
      return { ...digested, isHandshake: true };
    case 'request': {
      const { method } = message;
      return { ...digested, mcp: method, ...(isHandshake(method) && { isHandshake: true }) };
    }
    case 'tool':
      return { ...digested, mcp: CALL_TOOL, tool: message.name };
  }
}

const ofBody = (fields: HeaderPairs, coveredBody: Uint8Array): DigestedRequest => ({
  ...digestWith(fields, contentDigest(coveredBody)),
  coveredBody,
});

function digestWith(fields: HeaderPairs, bodyDigest: string): DigestedRequest {
  const lines = coveredFields(fields).map(([name, value]) => `${name}: ${value}\n`);
  return { digest: contentDigest(Buffer.from(`${lines.join('')}\n${bodyDigest}`)), bodyDigest };
}

/** A client that repeats a call numbers it anew, and names another token for its progress. */
function withoutNumbers(body: Uint8Array): Uint8Array {
  const spans = [memberSpan(body, ['id']), memberSpan(body, ['params', '_meta'])]
    .filter((span) => span !== undefined)
    .toSorted((one, other) => one.start - other.start);
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const { start, end } of spans) {
    pieces.push(body.subarray(from, start), ZERO);
    from = end;
  }
  return Buffer.concat([...pieces, body.subarray(from)]);
}

const ZERO = Buffer.from('0');
