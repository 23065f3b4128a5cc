import {
  type InboundClassificationOutcome,
  type InboundModernRoute,
  type JSONRPCRequest,
  SUPPORTED_PROTOCOL_VERSIONS,
  UnsupportedProtocolVersionError,
  isJSONRPCRequest,
  isSpecType,
} from '@modelcontextprotocol/server';
import type { Operation } from '../../access/decision.ts';
import {
  INVALID_PARAMS,
  INVALID_REQUEST,
  type JsonRpcId,
  type JsonRpcRefusal,
  REFUSED_BY_HTTP,
  idOf,
} from '../http/json-rpc.ts';
import { routeOf } from './message-route.ts';
import type { Read } from './read-message.ts';
import { unfitMember } from './unfit-member.ts';
import { type StandardHeaders, contradiction } from './standard-headers.ts';
import type { Arguments, Tool } from './tool.ts';

/** The revisions with a handshake, and the one in which each request says all that it needs. */
export const STATELESS_REVISION = '2026-07-28';

/** A tool that is to be called. */
export interface ToolCall {
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
    | { readonly kind: 'refuse'; readonly refusal: JsonRpcRefusal };
}

const HANDSHAKE: Operation = { kind: 'admission', traffic: 'mcp_handshake' };
const FLOOR: Operation = { kind: 'admission', traffic: 'agent_credentials' };

/** Revision 2026-07-28: `HEADER_MISMATCH`. */
const HEADER_MISMATCH = -32_020;

export type Judge = (read: Read, headers: StandardHeaders) => Inbound;

/**
 * Tells from the body alone what a message is and which limit it counts against; headers can only make it refused.
 * Pure: nothing is looked up, and nothing is answered yet, since a stranger is told nothing of it.
 *
 * @param tools by name
 */
export const createJudge =
  (tools: ReadonlyMap<string, Tool>): Judge =>
  (read, headers) => {
    if (!read.readable) return refuse(read.id, HANDSHAKE, read.refusal);
    const { message } = read;
    if (Array.isArray(message)) return refuse(null, classOfBatch(message), NO_BATCHES);
    const id = idOf(message);
    const operation = isToolsCall(message) ? FLOOR : HANDSHAKE;
    const route = routeOf(message, headers);
    const refusal = refusalOf(route, headers);
    if (refusal !== undefined) return refuse(id, operation, refusal);
    if (route.kind === 'reject' || !isJSONRPCRequest(message))
      return { id, operation, course: { kind: 'accept' } };

    const classification = route.kind === 'modern' ? route.classification : undefined;
    const forms = classification === undefined ? HANDSHAKE_FORMS : STATELESS_FORMS;
    const type = forms.get(message.method);
    if (type !== undefined && !isSpecType[type](message))
      return refuse(id, operation, unfitParameters(message, type));
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
const unfitParameters = (message: JSONRPCRequest, type: SpecRequest): JsonRpcRefusal => ({
  status: 200,
  code: INVALID_PARAMS,
  message: `Invalid params: \`${unfitMember(message, type)}\` is missing or has not the form that the protocol gives it`,
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

const refuse = (id: JsonRpcId, operation: Operation, refusal: JsonRpcRefusal): Inbound => ({
  id,
  operation,
  course: { kind: 'refuse', refusal },
});

/** Specification, "POST /api/agents/mcp". */
const NO_BATCHES: JsonRpcRefusal = {
  status: 400,
  code: INVALID_REQUEST,
  message: 'Batch requests are not supported',
};

/** What the protocol has against a message before anybody looks at what it asks for. */
function refusalOf(
  route: InboundClassificationOutcome,
  headers: StandardHeaders,
): JsonRpcRefusal | undefined {
  if (route.kind === 'reject') {
    const { httpStatus: status, code, message, data } = route;
    return { status, code, message, data };
  }
  return route.kind === 'modern' ? refusalOfStateless(route, headers) : refusalOfVersion(route, headers);
}

function refusalOfStateless(route: InboundModernRoute, headers: StandardHeaders): JsonRpcRefusal | undefined {
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
function refusalOfVersion(
  route: Extract<InboundClassificationOutcome, { readonly kind: 'legacy' }>,
  { version }: StandardHeaders,
): JsonRpcRefusal | undefined {
  if (version === undefined || route.reason === 'initialize' || SUPPORTED_PROTOCOL_VERSIONS.includes(version))
    return undefined;
  return {
    status: 400,
    code: REFUSED_BY_HTTP,
    message: `Bad Request: unsupported protocol version (supported versions: ${SUPPORTED_PROTOCOL_VERSIONS.join(', ')})`,
  };
}

const methodOf = (message: unknown): unknown =>
  typeof message === 'object' && message !== null && 'method' in message ? message.method : undefined;

const isToolsCall = (message: unknown): boolean => methodOf(message) === 'tools/call';

/** Specification, "Handshake exemption": once, and as exempt only where every message in it is. */
function classOfBatch(messages: readonly unknown[]): Operation {
  return messages.length > 0 && messages.every(isExempt) ? HANDSHAKE : FLOOR;
}

function isExempt(message: unknown): boolean {
  const method = methodOf(message);
  if (typeof method !== 'string') return false;
  return method === 'initialize' || method === 'tools/list' || method.startsWith('notifications/');
}
