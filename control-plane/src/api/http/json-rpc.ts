/** An id as JSON-RPC 2.0 has them; null where a message has none, or none that could be read. */
export type JsonRpcId = string | number | null;

/** An error of the endpoint itself, without a tool or the SDK: its HTTP status, and the error that its body carries. */
export interface JsonRpcError {
  readonly status: number;
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** JSON-RPC 2.0 section 5.1. */
export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
export const INVALID_PARAMS = -32_602;
/** The SDK's code where HTTP rejects (413, 415, 406) and JSON-RPC has no code for it. */
export const HTTP_ERROR = -32_000;
/** Specification, "MCP endpoint": limiter and penalty-box denials. */
const RATE_LIMITED = -32_029;

/** The id of the response: the request's, with its type, wherever JSON can carry it back. */
export function idOf(message: unknown): JsonRpcId {
  if (typeof message !== 'object' || message === null || !('id' in message)) return null;
  const { id } = message;
  return typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id)) ? id : null;
}

/** {@link idOf} a text that is JSON. */
export function idIn(body: Uint8Array): JsonRpcId {
  try {
    return idOf(JSON.parse(Buffer.from(body).toString()));
  } catch {
    return null;
  }
}

/** Specification, "Handshake exemption". */
export const isHandshakeMethod = (method: unknown): boolean =>
  method === 'initialize' ||
  method === 'tools/list' ||
  (typeof method === 'string' && method.startsWith('notifications/'));

/** The body of an error response; the request's id is a member of `data`. */
export const errorBody = (
  id: JsonRpcId,
  { code, message, data }: Omit<JsonRpcError, 'status'>,
  requestId: string,
): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data: { ...(data as object), requestId } } });

/** The body of `-32029`, with the seconds after which to try again. */
export const rateLimitedBody = (
  id: JsonRpcId,
  {
    message,
    code,
    retryAfter,
  }: { readonly message: string; readonly code: string; readonly retryAfter: number },
  requestId: string,
): string => errorBody(id, { code: RATE_LIMITED, message, data: { code, retryAfter } }, requestId);
