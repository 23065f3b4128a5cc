import { scrub } from '@svault/server-kit/scrub';
import type { Clock } from '@svault/shared';
import type { Outcome } from '@svault/shared/schemas';
import type { AuditWriter } from '../audit/audit-writer.ts';
import type { DenialCounter } from '../audit/denial-counter.ts';
import type { AuditDetail, NewAuditEvent } from '../core/audit-event.ts';
import type { LimiterDenial } from '../limits/limiter.ts';
import type { RateUse } from '../policies/evaluate.ts';
import { type Denial, type Denied, type RequestOrigin, denied } from './decision.ts';
import { type AgentSubject, type CallerSubject, type ProxySubject, isStale } from './subject.ts';

export type DenialRecorder<Subject extends CallerSubject> = ReturnType<
  ReturnType<typeof createDenialRecorder<Subject>>
>;

/**
 * Denies requests of a known caller: each denial is in the log, or counted into it, before it is answered.
 *
 * @param eventOf the event that records a denial; its service name is undefined where the request names no valid one
 * @returns a recorder for a request of this origin; each of its methods throws ApiError AUDIT_UNAVAILABLE when the denial
 *   cannot be recorded
 */
export function createDenialRecorder<Subject extends CallerSubject>(
  eventOf: (
    subject: Subject,
    serviceName: string | undefined,
    denial: Denial,
    origin: RequestOrigin,
  ) => NewAuditEvent,
  options: {
    readonly audit: Pick<AuditWriter, 'record'>;
    readonly denials: DenialCounter;
    readonly clock: Clock;
  },
) {
  const { audit, denials, clock } = options;

  return (origin: RequestOrigin) => {
    const event = (subject: Subject, serviceName: string | undefined, denial: Denial): NewAuditEvent =>
      eventOf(subject, serviceName, denial, origin);

    async function deny(subject: Subject, serviceName: string | undefined, denial: Denial): Promise<Denied> {
      const touchCaller = isStale(subject, clock.now());
      await audit.record(event(subject, serviceName, denial), { touchCaller });
      return denied(denial);
    }

    /** Denies what a caller can cause without limit: one event per caller, code and minute. */
    function denyCoalesced(subject: Subject, denial: Denial): Denied {
      denials.count(event(subject, undefined, denial));
      return denied(denial);
    }

    return {
      /** The event of a denial. */
      eventOf: event,
      deny,
      denyCoalesced,
      /** Denies a request that no limit has counted: the first of a minute is written, further ones are coalesced. */
      denyUncounted: async (subject: Subject, serviceName: string | undefined, denial: Denial) =>
        denials.countRepeat(event(subject, undefined, denial))
          ? denied(denial)
          : deny(subject, serviceName, denial),
      /** @param rates of policies: where the limiter denied one of them, the policy denies */
      denyByLimiter: async (
        subject: Subject,
        serviceName: string | undefined,
        { scope, key, retryAfterSeconds }: LimiterDenial,
        rates: readonly RateUse[],
      ) => {
        const rate = rates.find(({ counter }) => counter.key === key);
        return rate === undefined
          ? denyCoalesced(subject, { code: 'RATE_LIMITED', scope, retryAfterSeconds })
          : deny(subject, serviceName, { code: 'POLICY_DENIED', ...rate.denial, retryAfterSeconds });
      },
    };
  };
}

/** @param serviceName scrubbed: an agent may have sent a key in its place */
export const agentDenialEvent = (
  subject: AgentSubject,
  serviceName: string | undefined,
  denial: Denial,
  origin: RequestOrigin,
): NewAuditEvent => ({
  vaultId: subject.vaultId,
  agentId: subject.agentId,
  origin: agentOrigin(subject, origin),
  ...(serviceName !== undefined && { serviceName: scrub(serviceName) }),
  eventType: 'AGENT_CREDENTIAL_ACCESS',
  ...recorded(denial),
});

/** Of an OAuth session's token the session, which outlives it. */
export const agentOrigin = ({ sessionId }: AgentSubject, origin: RequestOrigin): RequestOrigin =>
  sessionId === null ? origin : { ...origin, authenticatedBy: sessionId };

/** The event of a proxy's use, whatever its outcome. */
export const proxyEvent = (
  { vaultId, proxyId, serviceName }: ProxySubject,
  outcome: Pick<NewAuditEvent, 'outcome' | 'detail' | 'origin'>,
): NewAuditEvent => ({
  vaultId,
  proxyId,
  ...(serviceName !== null && { serviceName }),
  eventType: 'PROXY_CREDENTIAL_USE',
  ...outcome,
});

export const proxyDenialEvent = (
  subject: ProxySubject,
  _serviceName: string | undefined,
  denial: Denial,
  origin: RequestOrigin,
): NewAuditEvent => proxyEvent(subject, { ...recorded(denial), origin });

function recorded(denial: Denial): { readonly outcome: Outcome; readonly detail: AuditDetail } {
  const { code } = denial;
  const detail =
    code === 'POLICY_DENIED'
      ? { code, policy: denial.policy, rule: denial.rule, ...denial.request }
      : { code };
  return { outcome: outcomeOf(denial), detail };
}

/** `error` means that neither the agent nor the owner's rules are the cause. */
function outcomeOf(denial: Denial): Outcome {
  switch (denial.code) {
    case 'RATE_LIMITED':
      return 'rate_limited';
    case 'POLICY_DENIED':
      return denial.retryAfterSeconds === undefined ? 'denied' : 'rate_limited';
    case 'WEBHOOK_NOT_CONFIGURED':
    case 'WEBHOOK_UNAVAILABLE':
      return 'error';
    default:
      return 'denied';
  }
}
