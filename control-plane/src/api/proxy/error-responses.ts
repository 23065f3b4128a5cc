import type { ServerResponse } from 'node:http';
import { requestIdOf } from '@svault/server-kit/request-id';
import { JSON_CONTENT, respond } from '@svault/server-kit/respond';
import { traceCode } from '@svault/server-kit/tracing';
import { toldOf } from '../../core/approval.ts';
import type { Denial } from '../../access/decision.ts';
import { TOO_MANY, createDenialWriter, denialMessages, policyDenied } from '../http/denial-response.ts';
import { type JsonRpcId, rateLimitedBody } from '../http/json-rpc.ts';
import type { ForwardRefusal } from '../../forwarding/exchange.ts';

/** The request to respond to, with the id of its JSON-RPC message if it has one. */
export interface RequestRef {
  readonly isMessage: boolean;
  readonly id: JsonRpcId;
}

/** What an endpoint sends with a 401. */
export interface KeyTexts {
  readonly missingKey: string;
  /** RFC 9110 section 11.6.1. */
  readonly challenge: string;
}

const MESSAGES = {
  INVALID_KEY: 'This key is malformed or has been revoked. Ask the owner of the proxy for its current one.',
  SESSION_NOT_FOUND:
    'This proxy has no session of this id with its upstream. Send initialize without Mcp-Session-Id to begin one.',
  AGENT_INACTIVE:
    'The agent of this proxy is suspended or deleted. An admin resumes a suspended one with svault agents resume AGENT.',
};

/**
 * Writes the errors of this channel (specification, "Proxy endpoint").
 *
 * For a JSON-RPC message, denials of the limiter, the penalty box and a `rate_limit` rule are its error `-32029`. All others
 * are plain JSON, as every denial of another request is.
 *
 * @param headers of every response, flat: name, value, name, value, …
 */
export function createErrorResponses(headers: readonly string[], { missingKey, challenge }: KeyTexts) {
  const messages = denialMessages({ ...MESSAGES, MISSING_KEY: missingKey });
  const denyPlainly = createDenialWriter(headers, { messages, challenge, webhookUnavailable: 502 });
  const send = (res: ServerResponse, status: number, body: string, retryAfter: number | undefined): void => {
    const hint = retryAfter === undefined ? [] : ['Retry-After', String(retryAfter)];
    respond(res, { status, headers: [...headers, ...JSON_CONTENT, ...hint], body });
  };
  const limit = (
    res: ServerResponse,
    { id }: RequestRef,
    code: 'RATE_LIMITED' | 'POLICY_DENIED',
    { message, retryAfter }: { readonly message: string; readonly retryAfter: number },
  ): void => {
    traceCode(res.req, code);
    const body = rateLimitedBody(id, { message, code, retryAfter }, requestIdOf(res.req));
    send(res, 429, body, retryAfter);
  };

  return {
    deny: (res: ServerResponse, ref: RequestRef, denial: Denial): void => {
      const { code } = denial;
      if (ref.isMessage && code === 'RATE_LIMITED')
        return limit(res, ref, code, { message: TOO_MANY, retryAfter: denial.retryAfterSeconds });
      if (ref.isMessage && code === 'POLICY_DENIED' && denial.retryAfterSeconds !== undefined) {
        const message = policyDenied(denial);
        return limit(res, ref, code, { message, retryAfter: denial.retryAfterSeconds });
      }
      denyPlainly(res, denial);
    },
    fail: (res: ServerResponse, ref: RequestRef, failure: ForwardRefusal): void => {
      const { status, code, error, approval, retryAfterSeconds: retryAfter } = failure;
      traceCode(res.req, code);
      if (ref.isMessage && code === 'RATE_LIMITED')
        return limit(res, ref, code, { message: TOO_MANY, retryAfter: retryAfter ?? 1 });
      const requestId = requestIdOf(res.req);
      const told = approval && toldOf(approval);
      send(res, status, JSON.stringify({ error, approval: told, code, retryAfter, requestId }), retryAfter);
    },
  };
}
