import { withTraceHeaders } from '@svault/server-kit/tracing';
import { answerFieldsThatTravel, createScrub } from '@svault/shared';
import { type Egress, failedCallOf } from '@svault/shared/egress';
import { callFailureText } from '@svault/shared/schemas';
import { sentFields } from '../access/upstream-request.ts';
import type { UpstreamSessions } from './upstream-session.ts';
import type { Forward, ForwardRefusal, ForwardTimeouts, SessionUse } from './exchange.ts';

/**
 * Forwards for `sv_session` proxies: directly to the upstream, with a session token issued for it (specification, "POST
 * /api/proxy/mcp"). The fields are those that the webhook would send, with the proxy's templates, which have no marker here.
 * Never retried.
 */
export function createSessionForward(options: {
  readonly egress: Egress;
  readonly sessions: UpstreamSessions;
  readonly timeouts: ForwardTimeouts;
}): Forward<SessionUse> {
  const { egress, sessions, timeouts } = options;

  return async ({ proxyId, proxy, headerTemplates }, { method, fields, body, signal, durable }, take) => {
    await durable;
    const token = await sessions.tokenFor(proxy);
    const scrub = createScrub(token.reveal());
    const sent = sentFields('mcp', { fields: withTraceHeaders(fields), body }, headerTemplates);
    let isAnswered = false;
    try {
      await egress.stream(
        {
          method,
          url: proxy.upstreamUrl,
          headers: {
            ...Object.fromEntries(sent),
            'accept-encoding': 'identity',
            authorization: `Bearer ${token.reveal()}`,
          },
          ...(body.byteLength > 0 && { body }),
          headTimeoutMs: timeouts.headMs,
          idleTimeoutMs: timeouts.idleMs,
          partition: proxyId,
          signal,
        },
        ({ status, fields: answered }) => {
          isAnswered = true;
          return take({ status, fields: scrub(answerFieldsThatTravel(answered)) });
        },
      );
      return undefined;
    } catch (error) {
      if (signal.aborted || isAnswered) return undefined;
      return refusalOf(error, proxy.upstreamUrl);
    }
  };
}

function refusalOf(error: unknown, upstreamUrl: string): ForwardRefusal {
  const failed = failedCallOf(error);
  if (failed === undefined) throw error;
  const { code, cause } = failed;
  const text = callFailureText(cause, upstreamUrl, 'control plane');
  return { status: code === 'UPSTREAM_TIMEOUT' ? 504 : 502, code, error: text };
}
