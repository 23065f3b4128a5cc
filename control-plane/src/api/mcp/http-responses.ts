import { CONTROL_PLANE_ERRORS } from '@svault/shared/error-catalog';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { requestIdOf } from '@svault/server-kit/request-id';
import { JSON_CONTENT, respond } from '@svault/server-kit/respond';
import { traceCode } from '@svault/server-kit/tracing';
import type { ErrorCode } from '../../core/errors.ts';
import { TOO_MANY } from '../http/denial-response.ts';
import { ERROR_STATUS } from '../http/errors.ts';
import { type JsonRpcId, type JsonRpcError, errorBody, rateLimitedBody } from '../http/json-rpc.ts';
import { metadataPathOf } from '../oauth/oauth-paths.ts';

/** What a page may ask with: GET and DELETE so that it can read their 405, which clients of the older revisions count on. */
const METHODS = 'POST, GET, DELETE';
/** Headers that a page of an allowed origin may send. */
const SENDABLE =
  'authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id';

/**
 * Writes the responses of this endpoint. `cors` are further headers, flat.
 *
 * @param staticHeaders headers of every response, flat: name, value, name, value, …
 * @param baseUrl where a client that has no token finds the metadata that tell how to get one (RFC 9728 section 5.1)
 */
export function createMcpResponses(staticHeaders: readonly string[], baseUrl: string) {
  const json = [...staticHeaders, ...JSON_CONTENT];
  const further = (slash: '' | '/'): Partial<Record<HttpDenial, readonly string[]>> => {
    const challenge = `Bearer resource_metadata="${baseUrl}${metadataPathOf(slash)}"`;
    return {
      METHOD_NOT_ALLOWED: ['Allow', 'POST'],
      MISSING_KEY: ['WWW-Authenticate', challenge],
      INVALID_KEY: ['WWW-Authenticate', `${challenge}, error="invalid_token"`],
    };
  };
  const [ofPath, ofSlashedPath] = [further(''), further('/')];
  const furtherFor = ({ url = '' }: IncomingMessage): ReturnType<typeof further> =>
    /^[^?]*\/(?:\?|$)/.test(url) ? ofSlashedPath : ofPath;

  return {
    send: (res: ServerResponse, cors: readonly string[], status: number, body: string): void =>
      respond(res, { status, headers: [...json, ...cors], body }),
    /** 202 without a body, to a message that needs no response. */
    accept: (res: ServerResponse, cors: readonly string[]): void =>
      respond(res, { status: 202, headers: [...staticHeaders, ...cors], body: '' }),
    preflight: (res: ServerResponse, cors: readonly string[]): void => {
      const allowed = ['Access-Control-Allow-Methods', METHODS, 'Access-Control-Allow-Headers', SENDABLE];
      res.writeHead(204, [...staticHeaders, ...cors, ...allowed, 'Access-Control-Max-Age', '600']).end();
    },
    deny: (
      res: ServerResponse,
      cors: readonly string[],
      code: HttpDenial,
      error: string = MESSAGES[code],
    ): void => {
      traceCode(res.req, code);
      const headers = [...json, ...cors, ...(furtherFor(res.req)[code] ?? [])];
      const body = JSON.stringify({ error, code, requestId: requestIdOf(res.req) });
      respond(res, { status: STATUS[code], headers, body });
    },
    rejectMessage: (res: ServerResponse, cors: readonly string[], id: JsonRpcId, error: JsonRpcError): void =>
      respond(res, {
        status: error.status,
        headers: [...json, ...cors],
        body: errorBody(id, error, requestIdOf(res.req)),
        // The rest of the body is never read, so the connection closes.
        closes: !res.req.complete,
      }),
    limited: (res: ServerResponse, cors: readonly string[], id: JsonRpcId, retryAfter: number): void => {
      const limit = { message: TOO_MANY, code: 'RATE_LIMITED', retryAfter };
      const body = rateLimitedBody(id, limit, requestIdOf(res.req));
      const headers = [...json, ...cors, 'Retry-After', String(retryAfter)];
      respond(res, { status: ERROR_STATUS.RATE_LIMITED, headers, body });
    },
  };
}

/** Specification, "MCP endpoint": an invalid call is challenged as one without credentials is. */
const STATUS = { ...ERROR_STATUS, MISSING_KEY: 401, INVALID_KEY: 401 };

const MESSAGES = {
  METHOD_NOT_ALLOWED: 'This endpoint takes POST only: it has neither a stream of its own nor sessions.',
  FORBIDDEN: 'This request does not come from where this service may be called.',
  MISSING_KEY: 'Send the agent key or the session token as Authorization: Bearer …',
  INVALID_KEY: 'This key or token is malformed, expired or revoked, or of another resource.',
  AGENT_INACTIVE: CONTROL_PLANE_ERRORS.AGENT_INACTIVE.message,
  MCP_DISABLED: CONTROL_PLANE_ERRORS.MCP_DISABLED.message,
} as const satisfies Partial<Record<ErrorCode, string>>;

/** For what is a proxy's key by its form, which tells nothing about one that exists. */
export const KEY_OF_PROXY =
  'This is the key of a proxy (mcp_…), for /api/proxy/mcp. Here an agent key (svagent_…) or a session token is needed.';

/** Denials with an HTTP status, whatever the message is, in the shape of every other error of this service. */
type HttpDenial = keyof typeof MESSAGES;

export const isHttpDenial = (code: string): code is HttpDenial => code in MESSAGES;
