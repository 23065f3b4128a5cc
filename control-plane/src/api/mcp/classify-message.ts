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

/** A tool to call. */
interface ToolCall {
  readonly tool: Tool;
  readonly given: Arguments;
}

/** A request for the SDK, in the protocol of its era. */
export interface Served {
  readonly request: JSONRPCRequest;
  /** Undefined: of a revision with a handshake. */
  readonly classification: InboundModernRoute['classification'] | undefined;
  /** Of a `tools/call` that the protocol allows, for a tool that exists. */
  readonly call: ToolCall | undefined;
}

/** The operation that a message needs authorised, and the response to it once it is. */
export interface Inbound {
  readonly id: JsonRpcId;
  readonly operation: Operation;
  readonly course:
    | ({ readonly kind: 'serve' } & Served)
    /** 202: a notification, or a response to a request that we never send. */
    | { readonly kind: 'accept' }
    | { readonly kind: 'reject'; readonly error: JsonRpcError };
}

const HANDSHAKE: Operation = { kind: 'admission', traffic: 'mcp_handshake' };
const FLOOR: Operation = { kind: 'admission', traffic: 'agent_credentials' };

/** Revision 2026-07-28: `HEADER_MISMATCH`. */
const HEADER_MISMATCH = -32_020;

type ClassifyMessage = (read: Read, headers: StandardHeaders) => Inbound;

/**
 * Classifies a message by its body alone; headers can only get it rejected. Pure: nothing is looked up, and no response is
 * sent before its sender is authenticated.
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
 * The requests that the SDK's server handles in each era, and their types. The SDK would validate them itself, with an error
 * of many times the request's size.
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

/** Status 200, as in the responses of the SDK's server. */
const invalidParams = (message: JSONRPCRequest, type: SpecRequest): JsonRpcError => ({
  status: 200,
  code: INVALID_PARAMS,
  message: `Invalid params: \`${invalidMember(message, type)}\` is missing or has not the form that the protocol gives it`,
});

/** Undefined for a call that the SDK would reject: no ticket is issued for a response that does not carry it. */
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

/** The protocol's error for a message, before its operation is looked at. */
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
 * handshake; classifying them by the SDK costs as much as a third of the response.
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

/** @returns undefined where the SDK has to classify it */
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

/** The headers in which a client of 2026-07-28 repeats its message, for intermediaries that do not read the body. */
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

/** Enough to find it; deeper names are the sender's choice. */
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
