import { JsonRefused, isObject, parseJsonObject } from '../json.ts';
import { AmbiguousRequest } from './request-denial.ts';

/** What a JSON-RPC message of MCP asks for. */
export type McpMessage =
  | { readonly kind: 'request'; readonly method: string }
  | {
      readonly kind: 'tool';
      readonly name: string;
      /** NaN in the place of numbers that are not written as integers. */
      readonly arguments: Readonly<Record<string, unknown>>;
    }
  /** Answers what the upstream asked. */
  | { readonly kind: 'response' };

export const CALL_TOOL = 'tools/call';
export const LIST_TOOLS = 'tools/list';
/** The stream of what the server sends, and the end of a session. */
export const WITHOUT_MESSAGE: ReadonlySet<string> = new Set(['GET', 'DELETE']);
const HANDSHAKE: readonly string[] = ['initialize', 'server/discover', 'ping', LIST_TOOLS];

/** Whether no client gets as far as a call without this method of JSON-RPC (PROTOCOL.md RUL-12). */
export const isHandshake = (method: string): boolean =>
  HANDSHAKE.includes(method) || method.startsWith('notifications/');
const MESSAGE_MEMBERS = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'];
const PARAMS_MEMBERS = ['name', 'arguments', 'uri', '_meta'];
const BASE64_VALUE = /^=\?base64\?.*\?=$/i;

/** @throws AmbiguousRequest where another program could read another message */
export function readMcpMessage(fields: ReadonlyMap<string, string>, body: Uint8Array): McpMessage {
  if (!isJsonInUtf8(fields.get('content-type') ?? '')) throw new AmbiguousRequest('content_type');
  if ((fields.get('content-encoding') ?? 'identity') !== 'identity')
    throw new AmbiguousRequest('content_encoding');
  const message = parse(body);
  checkCase(message, MESSAGE_MEMBERS);
  const { jsonrpc, id = null, method } = message;
  // Some programs write null for what is absent.
  const params = message['params'] ?? {};
  const hasAnswer = Object.hasOwn(message, 'result') || Object.hasOwn(message, 'error');
  if (jsonrpc !== '2.0' || !(id === null || typeof id === 'string' || typeof id === 'number'))
    throw new AmbiguousRequest('json_rpc');
  if (!Object.hasOwn(message, 'method') && hasAnswer && !Object.hasOwn(message, 'params')) {
    if (fields.has('mcp-method') || fields.has('mcp-name')) throw new AmbiguousRequest('mcp_header');
    return { kind: 'response' };
  }
  if (typeof method !== 'string' || hasAnswer || !isObject(params)) throw new AmbiguousRequest('json_rpc');
  checkCase(params, PARAMS_MEMBERS);
  checkMirrors(fields, method, params);
  if (method !== CALL_TOOL) return { kind: 'request', method };
  const { name } = params;
  const given = params['arguments'] ?? {};
  if (typeof name !== 'string' || !isObject(given)) throw new AmbiguousRequest('json_rpc');
  return { kind: 'tool', name, arguments: withIntegersAlone(given, body) };
}

/** The character before the number leaves texts such as the `2.0` of JSON-RPC out. */
const MAY_HAVE_FRACTION = /[:,[\s]-?[0-9]+[.eE]/;

/**
 * `5.0` is another text than `5` in Python, and `4.99999999999999999` another number to a program that keeps its digits, so
 * that neither is a value of a rule.
 */
function withIntegersAlone(value: Readonly<Record<string, unknown>>, body: Uint8Array): typeof value {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  if (!MAY_HAVE_FRACTION.test(text)) return value;
  const integer = (_name: string, member: unknown, { source = '' }: { source?: string } = {}): unknown =>
    typeof member === 'number' && !/^-?[0-9]+$/.test(source) ? Number.NaN : member;
  const message = JSON.parse(text, integer) as { params: { arguments: typeof value | null } };
  return message.params.arguments ?? value;
}

function parse(body: Uint8Array): Record<string, unknown> {
  try {
    return parseJsonObject(body, { numbers: 'any' });
  } catch (error) {
    if (error instanceof JsonRefused) throw new AmbiguousRequest('json');
    throw error;
  }
}

function isJsonInUtf8(contentType: string): boolean {
  return /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i.test(contentType);
}

/** MCP 2026-07-28, Streamable HTTP, "Standard Headers": they repeat members of the body, and gateways go by them. */
function checkMirrors(
  fields: ReadonlyMap<string, string>,
  method: string,
  params: Readonly<Record<string, unknown>>,
): void {
  const [saidMethod, saidName] = [fields.get('mcp-method'), fields.get('mcp-name')];
  if (saidMethod !== undefined && saidMethod !== method) throw new AmbiguousRequest('mcp_header');
  if (saidName === undefined) return;
  const name = params[method === 'resources/read' ? 'uri' : 'name'];
  if (typeof name !== 'string') throw new AmbiguousRequest('mcp_header');
  const expected = BASE64_VALUE.test(saidName) ? `=?base64?${Buffer.from(name).toString('base64')}?=` : name;
  if (saidName !== expected) throw new AmbiguousRequest('mcp_header');
}

/**
 * Some parsers read names without case, Go's among them.
 * @throws AmbiguousRequest where an object has a name that differs from an expected one in case alone
 */
function checkCase(object: Readonly<Record<string, unknown>>, expected: readonly string[]): void {
  for (const name of Object.keys(object)) {
    if (!expected.includes(name) && expected.includes(foldCase(name)))
      throw new AmbiguousRequest('member_case');
  }
}

/** As parsers fold that read names without case: `ſ` and the sign of Kelvin to `s` and `k` as well. */
export const foldCase = (text: string): string => text.toUpperCase().toLowerCase();

/**
 * The value that a JSON pointer (RFC 6901) leads to.
 * @param tokens of the pointer, unescaped
 * @returns undefined where there is none
 * @throws AmbiguousRequest where a member on the way has a neighbour that differs in case alone
 */
export function valueAt(value: unknown, tokens: readonly string[]): unknown {
  let at = value;
  for (const token of tokens) {
    if (Array.isArray(at))
      at = /^(?:0|[1-9][0-9]{0,8})$/.test(token) ? (at[Number(token)] as unknown) : undefined;
    else if (isObject(at)) {
      const folded = foldCase(token);
      if (Object.keys(at).some((name) => name !== token && foldCase(name) === folded))
        throw new AmbiguousRequest('member_case');
      at = Object.hasOwn(at, token) ? at[token] : undefined;
    } else return undefined;
  }
  return at;
}

/** @param pointer as in RFC 6901 section 3; '' for the whole value */
export function pointerTokens(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}
