import type { HeaderPairs } from '@svault/shared';
import type { AnswerHead, TakeAnswer } from '@svault/shared/egress';
import { type ProxyUse, kindOf } from '../access/decision.ts';
import type { SessionIds } from '../access/session-ids.ts';
import { PROXY_PATHS } from '../core/proxy.ts';
import type { CredentialRejections } from './credential-rejections.ts';
import { type Forward, FORWARD_TIMEOUTS, type ForwardTimeouts } from './exchange.ts';
import { holdUntil } from './held-answer.ts';
import { createProxyApprovals } from './proxy-approvals.ts';
import { type ProxyCall, createProxyCall } from './proxy-call.ts';
import { createUpstreamResponse, upstreamUrlOf } from './upstream-response.ts';
import { createSessionForward } from './via-session.ts';
import { createWebhookForward } from './via-webhook.ts';

type Dependencies = Parameters<typeof createSessionForward>[0] &
  Parameters<typeof createProxyCall>[0] &
  Parameters<typeof createWebhookForward>[0];

/**
 * Forwards an allowed use through the webhook or with a session, and denies unsafe responses of the upstream.
 *
 * @param options.timeouts those of the protocol unless given
 * @param options.baseUrl the control plane's public address, without trailing slash
 */
export function createForward(
  options: Omit<Dependencies, 'approvals' | 'call' | 'timeouts'> &
    Parameters<typeof createProxyApprovals>[0] & {
      readonly timeouts?: ForwardTimeouts;
      readonly baseUrl: string;
      readonly rejections: CredentialRejections;
      readonly sessionIds: SessionIds;
      /** For metrics. */
      readonly meterCall?: (call: ProxyCall) => ProxyCall;
    },
): Forward {
  const { timeouts = FORWARD_TIMEOUTS, rejections, sessionIds, baseUrl } = options;
  const call = createProxyCall({ ...options, timeouts });
  const viaWebhook = createWebhookForward({
    ...options,
    approvals: createProxyApprovals(options),
    call: options.meterCall?.(call) ?? call,
  });
  const viaSession = createSessionForward({ ...options, timeouts });
  return async (use, received, take) => {
    const kind = kindOf(use);
    const sessions = kind === 'mcp' ? sessionsOf(use, sessionIds) : NO_SESSIONS;
    const exchange = { ...received, fields: sessions.open(received.fields) };
    const held = holdUntil(received.durable, take);
    const send: TakeAnswer = (head) => held({ ...head, fields: sessions.bind(head.fields) });
    const proxyUrl = baseUrl + PROXY_PATHS[kind];
    const response = createUpstreamResponse(exchange, use, { proxyUrl, send });
    let recorded: Promise<void> | undefined;
    const takeRecorded: TakeAnswer = (head) => {
      recorded = rejections.record(use, head.status);
      return response.take(head);
    };
    try {
      const refusal = await (use.kind === 'webhook'
        ? viaWebhook(use, exchange, takeRecorded)
        : viaSession(use, exchange, takeRecorded));
      await recorded;
      return refusal ?? response.refusal();
    } finally {
      // An error of the program is an answer too.
      await received.durable;
    }
  };
}

/** Translates the MCP session ids of a request and of its response. */
interface Sessions {
  readonly open: (fields: HeaderPairs) => HeaderPairs;
  readonly bind: (fields: AnswerHead['fields']) => AnswerHead['fields'];
}

/** An HTTP API has no MCP sessions. */
const NO_SESSIONS: Sessions = { open: (fields) => fields, bind: (fields) => fields };

function sessionsOf(use: ProxyUse, ids: SessionIds): Sessions {
  const holder = { proxyId: use.proxyId, upstreamUrl: upstreamUrlOf(use) };
  return {
    open: (received) => {
      const fields = ids.open(holder, received);
      if (fields === undefined) throw new Error('a use was decided for the session of another proxy');
      return fields;
    },
    bind: (fields) => ids.bind(holder, fields),
  };
}
