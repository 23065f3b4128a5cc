import { scrub } from '@svault/server-kit/scrub';
import type { Clock } from '@svault/shared';
import type { Outcome } from '@svault/shared/schemas';
import type { AuditWriter } from '../audit/audit-writer.ts';
import type { DenialCounter } from '../audit/denial-counter.ts';
import type { AuditDetail, NewAuditEvent } from '../core/audit-event.ts';
import type { LimiterDenial } from '../limits/limiter.ts';
import type { RateUse } from '../policies/evaluate.ts';
import { type Denial, type Denied, denied } from './decision.ts';
import { type AgentSubject, type CallerSubject, type ProxySubject, isStale } from './subject.ts';

/** Denies requests of a known caller: each denial is in the log, or counted into it, before it is answered. */
export interface DenialRecorder<Subject extends CallerSubject> {
  /** @param serviceName logged; undefined where the request names no valid one */
  deny(subject: Subject, serviceName: string | undefined, denial: Denial): Promise<Denied>;
  /** Denies a request that no limit has counted: the first of a minute is written, further ones are coalesced. */
  denyUncounted(subject: Subject, serviceName: string | undefined, denial: Denial): Promise<Denied>;
  /** @param rates of policies: where the limiter denied one of them, the policy denies */
  denyByLimiter(
    subject: Subject,
    serviceName: string | undefined,
    verdict: LimiterDenial,
    rates: readonly RateUse[],
  ): Promise<Denied>;
  /** Denies what a caller can cause without limit: one event per caller, code and minute. */
  denyCoalesced(subject: Subject, denial: Denial): Denied;
}

/**
 * @param eventOf the event that records a denial
 * @throws ApiError AUDIT_UNAVAILABLE, each of the methods, when the denial cannot be recorded
 */
export function createDenialRecorder<Subject extends CallerSubject>(
  eventOf: (subject: Subject, serviceName: string | undefined, denial: Denial) => NewAuditEvent,
  options: { readonly audit: AuditWriter; readonly denials: DenialCounter; readonly clock: Clock },
): DenialRecorder<Subject> {
  const { audit, denials, clock } = options;

  const deny: DenialRecorder<Subject>['deny'] = async (subject, serviceName, denial) => {
    const touchCaller = isStale(subject, clock.now());
    await audit.record(eventOf(subject, serviceName, denial), { touchCaller });
    return denied(denial);
  };
  const denyCoalesced: DenialRecorder<Subject>['denyCoalesced'] = (subject, denial) => {
    denials.count(eventOf(subject, undefined, denial));
    return denied(denial);
  };

  return {
    deny,
    denyCoalesced,
    denyUncounted: async (subject, serviceName, denial) =>
      denials.countRepeat(eventOf(subject, undefined, denial))
        ? denied(denial)
        : deny(subject, serviceName, denial),
    denyByLimiter: async (subject, serviceName, { scope, key, retryAfterSeconds }, rates) => {
      const rate = rates.find(({ counter }) => counter.key === key);
      return rate === undefined
        ? denyCoalesced(subject, { code: 'RATE_LIMITED', scope, retryAfterSeconds })
        : deny(subject, serviceName, { code: 'POLICY_DENIED', ...rate.denial, retryAfterSeconds });
    },
  };
}

/** @param serviceName scrubbed: an agent may have sent a key in its place */
export const agentDenialEvent = (
  { vaultId, agentId }: AgentSubject,
  serviceName: string | undefined,
  denial: Denial,
): NewAuditEvent => ({
  vaultId,
  agentId,
  ...(serviceName !== undefined && { serviceName: scrub(serviceName) }),
  eventType: 'AGENT_CREDENTIAL_ACCESS',
  outcome: outcomeOf(denial),
  detail: detailOf(denial),
});

/** The event of a proxy's use, whatever its outcome. */
export const proxyEvent = (
  { vaultId, proxyId, serviceName }: ProxySubject,
  outcome: Pick<NewAuditEvent, 'outcome' | 'detail'>,
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
): NewAuditEvent => proxyEvent(subject, { outcome: outcomeOf(denial), detail: detailOf(denial) });

const detailOf = (denial: Denial): AuditDetail =>
  denial.code === 'POLICY_DENIED'
    ? { code: denial.code, policy: denial.policy, rule: denial.rule }
    : { code: denial.code };

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
