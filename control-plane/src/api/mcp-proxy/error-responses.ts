import type { ServerResponse } from 'node:http';
import { JSON_CONTENT, respond } from '@svault/server-kit/respond';
import type { Denial } from '../../access/decision.ts';
import { TOO_MANY, createDenialWriter, denialMessages, policyDenied } from '../http/denial-response.ts';
import { type JsonRpcId, rateLimitedBody } from '../http/json-rpc.ts';
import type { ForwardRefusal } from '../../forwarding/exchange.ts';

/** How a caller is to be answered: by the id of its message, where it sent one. */
interface Asked {
  readonly isPost: boolean;
  readonly id: JsonRpcId;
}

/** Writes what this door refuses (specification, "Proxy endpoint"). */
interface ErrorResponses {
  deny(res: ServerResponse, asked: Asked, denial: Denial): void;
  refuse(res: ServerResponse, asked: Asked, refusal: ForwardRefusal): void;
}

const MESSAGES = denialMessages({
  MISSING_KEY: 'Send the proxy key as Authorization: Bearer mcp_… or in x-mcp-key.',
  INVALID_KEY: 'This key is malformed or has been revoked. Ask the owner of the proxy for its current one.',
  SESSION_NOT_FOUND:
    'This proxy has no session of this id with its upstream. Send initialize without Mcp-Session-Id to begin one.',
  AGENT_INACTIVE:
    'The agent of this proxy is suspended or deleted. If it is suspended, its owner can resume it.',
});

/**
 * On POST a limiter's denial, the penalty box's and that of a `rate_limit` rule are JSON-RPC's `-32029`; all others are
 * plain, and on the other methods every one is.
 *
 * @param headers of every answer, flat: name, value, name, value, …
 */
export function createErrorResponses(headers: readonly string[]): ErrorResponses {
  const denyPlainly = createDenialWriter(headers, { messages: MESSAGES, webhookUnavailable: 502 });
  const send = (res: ServerResponse, status: number, body: string, retryAfter: number | undefined): void => {
    const hint = retryAfter === undefined ? [] : ['Retry-After', String(retryAfter)];
    respond(res, { status, headers: [...headers, ...JSON_CONTENT, ...hint], body });
  };
  const limit = (
    res: ServerResponse,
    { id }: Asked,
    code: 'RATE_LIMITED' | 'POLICY_DENIED',
    { message, retryAfter }: { readonly message: string; readonly retryAfter: number },
  ): void => send(res, 429, rateLimitedBody(id, { message, code, retryAfter }), retryAfter);

  return {
    deny: (res, asked, denial) => {
      const { code } = denial;
      if (asked.isPost && code === 'RATE_LIMITED')
        return limit(res, asked, code, { message: TOO_MANY, retryAfter: denial.retryAfterSeconds });
      if (asked.isPost && code === 'POLICY_DENIED' && denial.retryAfterSeconds !== undefined) {
        const message = policyDenied(denial.policy);
        return limit(res, asked, code, { message, retryAfter: denial.retryAfterSeconds });
      }
      denyPlainly(res, denial);
    },
    refuse: (res, asked, { status, code, error, retryAfterSeconds: retryAfter }) => {
      if (asked.isPost && code === 'RATE_LIMITED')
        return limit(res, asked, code, { message: TOO_MANY, retryAfter: retryAfter ?? 1 });
      send(res, status, JSON.stringify({ error, code, retryAfter }), retryAfter);
    },
  };
}
