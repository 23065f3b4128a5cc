import type { TakeAnswer } from '@svault/shared/egress';
import type { SessionIds } from '../access/session-ids.ts';
import type { CredentialRejections } from './credential-rejections.ts';
import { type Forward, FORWARD_TIMEOUTS, type ForwardTimeouts } from './exchange.ts';
import { holdUntil } from './held-answer.ts';
import { createProxyCall } from './proxy-call.ts';
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
 * @param options.proxyUrl the public URL of the proxy endpoint
 */
export function createForward(
  options: Omit<Dependencies, 'call' | 'timeouts'> & {
    readonly timeouts?: ForwardTimeouts;
    readonly proxyUrl: string;
    readonly rejections: CredentialRejections;
    readonly sessionIds: SessionIds;
  },
): Forward {
  const { timeouts = FORWARD_TIMEOUTS, rejections, sessionIds, proxyUrl } = options;
  const viaWebhook = createWebhookForward({ ...options, call: createProxyCall({ ...options, timeouts }) });
  const viaSession = createSessionForward({ ...options, timeouts });
  return async (use, received, take) => {
    const holder = { proxyId: use.proxyId, upstreamUrl: upstreamUrlOf(use) };
    const fields = sessionIds.open(holder, received.fields);
    if (fields === undefined) throw new Error('a use was decided for the session of another proxy');
    const exchange = { ...received, fields };
    const held = holdUntil(received.durable, take);
    const send: TakeAnswer = (head) => held({ ...head, fields: sessionIds.bind(holder, head.fields) });
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
