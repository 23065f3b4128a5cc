import { JsonRefused, parseJsonValue } from '@svault/shared';
import { type JsonRpcId, idIn, idOf, isHandshakeMethod } from '../http/json-rpc.ts';

/** Which limit a request counts against, and the id of the response to it. */
export interface MessageClass {
  readonly traffic: 'proxy_mcp' | 'mcp_handshake';
  /** Null for a batch, and for a message without one. */
  readonly id: JsonRpcId;
}

/** For a request without a readable message: every GET, DELETE and OPTIONS, and an unreadable body. */
export const NO_MESSAGE: MessageClass = { traffic: 'proxy_mcp', id: null };

/** No handshake has a tenth of it. Of a larger message not even the id is read. */
const MAX_READ_BYTES = 256 * 1024;
/** As large as a message may be there, at some tens of bytes for each value. */
const BOUNDS = { numbers: 'any', maxCommas: 10_000 } as const;

/** The headers that tell an upstream about a message. */
export interface MessageHeader {
  readonly contentType?: string | undefined;
  /** `Mcp-Method` of revision 2026-07-28. */
  readonly mcpMethod?: string | undefined;
}

/**
 * Classifies a POST by its body (specification, "Handshake exemption"): one message, or a batch of them,
 * each `initialize`, `tools/list` or `notifications/*`. Strict: a message that two readers could read differently is not
 * exempt, since the upstream is one of them, and `Mcp-Method` must name an exempt method as well.
 *
 * @param headerOf its header as it travels, asked for where the methods are exempt
 */
export function classifyMessage(body: Uint8Array, headerOf: () => MessageHeader = () => ({})): MessageClass {
  if (body.byteLength === 0 || body.byteLength > MAX_READ_BYTES) return NO_MESSAGE;
  let message: unknown;
  try {
    message = parseJsonValue(body, BOUNDS);
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw error;
    return { traffic: 'proxy_mcp', id: error.reason === 'depth' ? null : idIn(body) };
  }
  const messages: readonly unknown[] = Array.isArray(message) ? message : [message];
  const isExempt = messages.length > 0 && messages.every(isExemptMessage) && isExemptHeader(headerOf());
  return { traffic: isExempt ? 'mcp_handshake' : 'proxy_mcp', id: idOf(message) };
}

/** @returns the message in a body; undefined where it is not read */
export function readMessage(body: Uint8Array): unknown {
  if (body.byteLength > MAX_READ_BYTES) return undefined;
  try {
    return parseJsonValue(body, BOUNDS);
  } catch (error) {
    if (error instanceof JsonRefused) return undefined;
    throw error;
  }
}

const isExemptMessage = (message: unknown): boolean =>
  typeof message === 'object' &&
  message !== null &&
  'jsonrpc' in message &&
  message.jsonrpc === '2.0' &&
  'method' in message &&
  isHandshakeMethod(message.method) &&
  // Go's encoding/json takes `Method` for `method`, and the last of them counts.
  !Object.keys(message).some((name) => name !== 'method' && /^method$/iu.test(name));

const isExemptHeader = ({ contentType, mcpMethod }: MessageHeader): boolean =>
  isUtf8(contentType) && (mcpMethod === undefined || isHandshakeMethod(mcpMethod));

/** Stated or not. Under another charset an upstream reads other text: UTF-7 writes quotes in letters. */
const isUtf8 = (contentType = ''): boolean =>
  !/charset/i.test(contentType) || /^[^;]*;[\t ]*charset="?utf-8"?[\t ]*$/i.test(contentType);
