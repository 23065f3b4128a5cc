import type { TakeAnswer } from '@svault/shared/egress';
import type { CredentialRejections } from './credential-rejections.ts';
import { type Forward, FORWARD_TIMEOUTS, type ForwardTimeouts } from './exchange.ts';
import type { SessionIds } from '../access/session-ids.ts';
import { createUpstreamAnswers, upstreamUrlOf } from './upstream-response.ts';
import { createProxyCall } from './proxy-call.ts';
import { createSessionForward } from './via-session.ts';
import { type WebhookForwardDependencies, createWebhookForward } from './via-webhook.ts';

type Dependencies = Parameters<typeof createSessionForward>[0] &
  Parameters<typeof createProxyCall>[0] &
  WebhookForwardDependencies;

/**
 * Both ways that a use may go, and what is refused of an upstream's answer on either.
 *
 * @param options.timeouts the protocol's unless given
 * @param options.proxyUrl the public address of the proxy endpoint
 */
export function createForward(
  options: Omit<Dependencies, 'call' | 'timeouts'> & {
    readonly timeouts?: ForwardTimeouts;
    readonly proxyUrl: string;
    readonly rejections: CredentialRejections;
    readonly sessionIds: SessionIds;
  },
): Forward {
  const { timeouts = FORWARD_TIMEOUTS } = options;
  const toWebhook = createWebhookForward({ ...options, call: createProxyCall({ ...options, timeouts }) });
  const toUpstream = createSessionForward({ ...options, timeouts });
  const { rejections, sessionIds } = options;
  const answerOf = createUpstreamAnswers(options);
  return async (use, received, take) => {
    const holder = { proxyId: use.proxyId, upstreamUrl: upstreamUrlOf(use) };
    const fields = sessionIds.open(holder, received.fields);
    if (fields === undefined) throw new Error('a use was decided for the session of another proxy');
    const exchange = { ...received, fields };
    const answer = answerOf(exchange, use, (head) =>
      take({ ...head, fields: sessionIds.bind(holder, head.fields) }),
    );
    let noted: Promise<void> | undefined;
    const noting: TakeAnswer = (head) => {
      noted = rejections.note(use, head.status);
      return answer.take(head);
    };
    const refused = await (use.kind === 'webhook'
      ? toWebhook(use, exchange, noting)
      : toUpstream(use, exchange, noting));
    await noted;
    return refused ?? answer.refusal();
  };
}
