import { JsonRefused, parseJsonValue } from '@svault/shared';
import { type JsonRpcId, idIn, idOf, isHandshakeMethod } from '../http/json-rpc.ts';

/** Which limit a request counts against, and by which id its denial is answered. */
export interface MessageClass {
  readonly traffic: 'proxy_mcp' | 'mcp_handshake';
  /** Null for a batch, and for what has none. */
  readonly id: JsonRpcId;
}

/** What is no message: every GET, DELETE and OPTIONS, and what nobody can read. */
export const NO_MESSAGE: MessageClass = { traffic: 'proxy_mcp', id: null };

/** No handshake has a tenth of it; of larger messages not even the id is read. */
const MAX_READ_BYTES = 256 * 1024;
/** As large as a message may be there, at some tens of bytes for each value. */
const BOUNDS = { numbers: 'any', maxCommas: 10_000 } as const;

/** What an upstream is told of a message beside it. */
export interface MessageHeader {
  readonly contentType?: string | undefined;
  /** `Mcp-Method` of revision 2026-07-28. */
  readonly mcpMethod?: string | undefined;
}

/**
 * Tells from the body which class a POST is of (specification, "Handshake exemption"): one message, or a batch of them,
 * each `initialize`, `tools/list` or `notifications/*`. Strict: what two readers could take for two things is not exempt,
 * since the upstream is one of them, and what it is told by `Mcp-Method` must be exempt as well.
 *
 * @param header as it travels
 */
export function classifyMessage(
  body: Uint8Array,
  { contentType, mcpMethod }: MessageHeader = {},
): MessageClass {
  if (body.byteLength === 0 || body.byteLength > MAX_READ_BYTES) return NO_MESSAGE;
  let message: unknown;
  try {
    message = parseJsonValue(body, BOUNDS);
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw error;
    return { traffic: 'proxy_mcp', id: error.reason === 'depth' ? null : idIn(body) };
  }
  const messages: readonly unknown[] = Array.isArray(message) ? message : [message];
  const isExempt =
    messages.length > 0 &&
    messages.every(isExemptMessage) &&
    isUtf8(contentType) &&
    (mcpMethod === undefined || isHandshakeMethod(mcpMethod));
  return { traffic: isExempt ? 'mcp_handshake' : 'proxy_mcp', id: idOf(message) };
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

/** Said or not. Told of another charset, an upstream reads other text: UTF-7 writes quotes in letters. */
const isUtf8 = (contentType = ''): boolean =>
  !/charset/i.test(contentType) || /^[^;]*;[\t ]*charset="?utf-8"?[\t ]*$/i.test(contentType);
