import {
  type InboundClassificationOutcome,
  type InboundModernRoute,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
  UnsupportedProtocolVersionError,
  classifyInboundRequest,
  isJSONRPCRequest,
  isSpecType,
  specTypeSchemas,
} from '@modelcontextprotocol/server';
import type { IncomingMessage } from 'node:http';
import type { Operation } from '../../access/decision.ts';
import {
  INVALID_PARAMS,
  INVALID_REQUEST,
  type JsonRpcId,
  type JsonRpcError,
  HTTP_ERROR,
  idOf,
  isHandshakeMethod,
} from '../http/json-rpc.ts';
import type { Read } from './read-message.ts';
import type { Arguments, Tool } from './tool.ts';

/** The revisions with a handshake, and the one in which each request says all that it needs. */
export const STATELESS_REVISION = '2026-07-28';

/** A tool that is to be called. */
interface ToolCall {
  readonly tool: Tool;
  readonly given: Arguments;
}

/** A request that the SDK is to answer, in the protocol of its era. */
export interface Served {
  readonly request: JSONRPCRequest;
  /** Undefined: of a revision with a handshake. */
  readonly classification: InboundModernRoute['classification'] | undefined;
  /** Of a `tools/call` that the protocol allows, for a tool that there is. */
  readonly call: ToolCall | undefined;
}

/** What a message comes to once its sender is let through, and what is asked for the sender meanwhile. */
export interface Inbound {
  readonly id: JsonRpcId;
  readonly operation: Operation;
  readonly course:
    | ({ readonly kind: 'serve' } & Served)
    /** Nothing to say: a notification, or an answer to something we never ask. */
    | { readonly kind: 'accept' }
    | { readonly kind: 'reject'; readonly error: JsonRpcError };
}

const HANDSHAKE: Operation = { kind: 'admission', traffic: 'mcp_handshake' };
const FLOOR: Operation = { kind: 'admission', traffic: 'agent_credentials' };

/** Revision 2026-07-28: `HEADER_MISMATCH`. */
const HEADER_MISMATCH = -32_020;

type ClassifyMessage = (read: Read, headers: StandardHeaders) => Inbound;

/**
 * Tells from the body alone what a message is and which limit it counts against; headers can only make it refused.
 * Pure: nothing is looked up, and nothing is answered yet, since a stranger is told nothing of it.
 *
 * @param tools by name
 */
export const createClassifier =
  (tools: ReadonlyMap<string, Tool>): ClassifyMessage =>
  (read, headers) => {
    if (!read.readable) return reject(read.id, HANDSHAKE, read.error);
    const { message } = read;
    if (Array.isArray(message)) return reject(null, operationOfBatch(message), NO_BATCHES);
    const id = idOf(message);
    const operation = isToolsCall(message) ? FLOOR : HANDSHAKE;
    const route = routeOf(message, headers);
    const error = protocolError(route, headers);
    if (error !== undefined) return reject(id, operation, error);
    if (route.kind === 'reject' || !isJSONRPCRequest(message))
      return { id, operation, course: { kind: 'accept' } };

    const classification = route.kind === 'modern' ? route.classification : undefined;
    const forms = classification === undefined ? HANDSHAKE_FORMS : STATELESS_FORMS;
    const type = forms.get(message.method);
    if (type !== undefined && !isSpecType[type](message))
      return reject(id, operation, invalidParams(message, type));
    const call = toolCallIn(message, tools);
    return {
      id,
      operation: call === undefined ? operation : call.tool.operation(call.given),
      course: { kind: 'serve', request: message, classification, call },
    };
  };

type Form = readonly [method: string, type: SpecRequest];

type SpecRequest =
  'CallToolRequest' | 'DiscoverRequest' | 'InitializeRequest' | 'ListToolsRequest' | 'PingRequest';

/**
 * The requests that the SDK's server answers here in each era, and their forms. It would look itself, and then tell in an
 * answer of many times the question's size what does not fit.
 */
const OF_BOTH_ERAS: readonly Form[] = [
  ['tools/list', 'ListToolsRequest'],
  ['tools/call', 'CallToolRequest'],
];
const HANDSHAKE_FORMS = new Map<string, SpecRequest>([
  ...OF_BOTH_ERAS,
  ['initialize', 'InitializeRequest'],
  ['ping', 'PingRequest'],
]);
const STATELESS_FORMS = new Map<string, SpecRequest>([
  ...OF_BOTH_ERAS,
  ['server/discover', 'DiscoverRequest'],
]);

/** In answers of the SDK's server too this is no failure of HTTP. */
const invalidParams = (message: JSONRPCRequest, type: SpecRequest): JsonRpcError => ({
  status: 200,
  code: INVALID_PARAMS,
  message: `Invalid params: \`${invalidMember(message, type)}\` is missing or has not the form that the protocol gives it`,
});

/** What the SDK would refuse must ask for nothing: no ticket is made for an answer that does not carry it. */
function toolCallIn(message: JSONRPCRequest, tools: ReadonlyMap<string, Tool>): ToolCall | undefined {
  if (!isSpecType.CallToolRequest(message)) return undefined;
  const { name, arguments: given = {}, requestState = '' } = message.params;
  // Of 2026-07-28's further rounds, which no tool has; the SDK still looks at its type.
  if (typeof requestState !== 'string') return undefined;
  const tool = tools.get(name);
  return tool && { tool, given };
}

const reject = (id: JsonRpcId, operation: Operation, error: JsonRpcError): Inbound => ({
  id,
  operation,
  course: { kind: 'reject', error },
});

/** Specification, "POST /api/agents/mcp". */
const NO_BATCHES: JsonRpcError = {
  status: 400,
  code: INVALID_REQUEST,
  message: 'Batch requests are not supported',
};

/** What the protocol has against a message before anybody looks at what it asks for. */
function protocolError(
  route: InboundClassificationOutcome,
  headers: StandardHeaders,
): JsonRpcError | undefined {
  if (route.kind === 'reject') {
    const { httpStatus: status, code, message, data } = route;
    return { status, code, message, data };
  }
  return route.kind === 'modern' ? statelessError(route, headers) : versionError(route, headers);
}

function statelessError(route: InboundModernRoute, headers: StandardHeaders): JsonRpcError | undefined {
  const { revision } = route.classification;
  if (revision !== STATELESS_REVISION) {
    const { code, message, data } = new UnsupportedProtocolVersionError({
      supported: [STATELESS_REVISION],
      requested: revision ?? 'unknown',
    });
    return { status: 400, code, message, data };
  }
  const mismatch = route.messageKind === 'request' ? contradiction(headers, route.message) : undefined;
  return mismatch === undefined
    ? undefined
    : { status: 400, code: HEADER_MISMATCH, message: `Bad Request: ${mismatch}` };
}

/** Revision 2025-06-18, "Protocol version header"; a handshake is about to settle the version, and needs none. */
function versionError(
  route: Extract<InboundClassificationOutcome, { readonly kind: 'legacy' }>,
  { version }: StandardHeaders,
): JsonRpcError | undefined {
  if (version === undefined || route.reason === 'initialize' || SUPPORTED_PROTOCOL_VERSIONS.includes(version))
    return undefined;
  return {
    status: 400,
    code: HTTP_ERROR,
    message: `Bad Request: unsupported protocol version (supported versions: ${SUPPORTED_PROTOCOL_VERSIONS.join(', ')})`,
  };
}

const methodOf = (message: unknown): unknown =>
  typeof message === 'object' && message !== null && 'method' in message ? message.method : undefined;

const isToolsCall = (message: unknown): boolean => methodOf(message) === 'tools/call';

/** Specification, "Handshake exemption": once, and as exempt only where every message in it is. */
function operationOfBatch(messages: readonly unknown[]): Operation {
  return messages.length > 0 && messages.every((message) => isHandshakeMethod(methodOf(message)))
    ? HANDSHAKE
    : FLOOR;
}

/**
 * Which era of the protocol a message is in, as the SDK tells it. By far most messages are requests of a revision with a
 * handshake, which need no look at what else they could be: that costs as much as a third of the answer.
 */
export function routeOf(message: unknown, headers: StandardHeaders): InboundClassificationOutcome {
  return (
    handshakeRoute(message, headers) ??
    classifyInboundRequest({
      httpMethod: 'POST',
      body: message,
      ...(headers.version !== undefined && { protocolVersionHeader: headers.version }),
      ...(headers.method !== undefined && { mcpMethodHeader: headers.method }),
    })
  );
}

/** @returns undefined where the SDK has to tell */
function handshakeRoute(
  message: unknown,
  { version }: StandardHeaders,
): InboundClassificationOutcome | undefined {
  const isOfEra = version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(version);
  if (!isOfEra || !isJSONRPCRequest(message)) return undefined;
  const meta = message.params?.['_meta'];
  if (typeof meta === 'object' && meta !== null && PROTOCOL_VERSION_META_KEY in meta) return undefined;
  return {
    kind: 'legacy',
    reason: message.method === 'initialize' ? 'initialize' : 'no-claim',
    ...(version !== undefined && { requestedVersion: version }),
  };
}

/** What a client of 2026-07-28 mirrors into headers, so that what stands in front of us need not read the body. */
export interface StandardHeaders {
  readonly version: string | undefined;
  readonly method: string | undefined;
  readonly name: string | undefined;
}

export const standardHeaders = ({ headers }: IncomingMessage): StandardHeaders => ({
  version: sole(headers['mcp-protocol-version']),
  method: sole(headers['mcp-method']),
  name: sole(headers['mcp-name']),
});

/** Node joins repeated headers of these names by a comma, which none of the values has. */
const sole = (value: string | string[] | undefined): string | undefined => value?.toString();

/**
 * Revision 2026-07-28, "Standard request headers": a request's headers are there and say what its body says. The SDK's
 * classifier compares those that are there; the rest of the rule is with the part of the SDK that is not used here.
 *
 * @returns what does not fit, in words; undefined where all does
 */
function contradiction(
  { version, method, name }: StandardHeaders,
  request: JSONRPCRequest,
): string | undefined {
  if (version === undefined) return 'the MCP-Protocol-Version header is missing';
  if (method === undefined) return 'the Mcp-Method header is missing';
  const named = request.method === 'tools/call' ? request.params?.['name'] : undefined;
  if (typeof named !== 'string') return undefined;
  if (name === undefined) return 'the Mcp-Name header is missing';
  return decodeHeader(name) === named ? undefined : 'the Mcp-Name header does not name the tool of the body';
}

/** Values that a header cannot carry come as `=?base64?…?=`. @returns undefined where that holds no base64 */
function decodeHeader(value: string): string | undefined {
  const encoded = /^=\?base64\?(.*)\?=$/s.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString('base64') === encoded ? bytes.toString() : undefined;
}

/** Enough to find it; what is deeper has names that its sender chose. */
const MAX_NAMES = 4;
const PLAIN_NAME = /^[\w.$/-]{1,40}$/;

/**
 * The first member of a request that does not fit its type of the protocol, as `params.name`.
 *
 * @returns `params` where it cannot be named in a few plain words
 */
function invalidMember(request: JSONRPCRequest, type: keyof typeof specTypeSchemas): string {
  const result = specTypeSchemas[type]['~standard'].validate(request);
  const issue = result instanceof Promise ? undefined : result.issues?.[0];
  const names = (issue?.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part));
  const odd = names.findIndex((name) => !PLAIN_NAME.test(name));
  return names.slice(0, odd === -1 ? MAX_NAMES : Math.min(odd, MAX_NAMES)).join('.') || 'params';
}
