import type { Clock } from '@svault/shared';
import type { NewAuditEvent } from '../core/audit-event.ts';
import type { AuditWriter } from '../audit/audit-writer.ts';
import type { DenialCounter } from '../audit/denial-counter.ts';
import type { LimiterDenial } from '../limits/limiter.ts';
import type { RateUse } from '../policies/policy-verdict.ts';
import { type CallerSubject, isStale } from './caller-subject.ts';
import { type Denial, type Denied, denied } from './denial.ts';

/** Denials of a known caller: each is in the log, or counted into it, before it is answered. */
export interface Refusals<Subject extends CallerSubject> {
  /** @param serviceName named in the log only where it is a legal one */
  refuse(subject: Subject, serviceName: string | undefined, denial: Denial): Promise<Denied>;
  /** Of a caller that no limit has counted. */
  denyUncounted(subject: Subject, serviceName: string | undefined, denial: Denial): Promise<Denied>;
  /**
   * By the limiter.
   * @param rates those of policies, whose denial is that of the policy
   */
  limited(
    subject: Subject,
    serviceName: string | undefined,
    refused: LimiterDenial,
    rates: readonly RateUse[],
  ): Promise<Denied>;
  /** Of what a caller can cause without limit: one event per caller, code and minute (contract.md, "Events"). */
  counted(subject: Subject, denial: Denial): Denied;
}

/** The event that tells of a denial. */
export type EventOf<Subject> = (
  subject: Subject,
  serviceName: string | undefined,
  denial: Denial,
) => NewAuditEvent;

/** @throws AppError AUDIT_UNAVAILABLE, each of them, when the denial cannot be recorded */
export function createRefusals<Subject extends CallerSubject>(
  eventOf: EventOf<Subject>,
  options: { readonly audit: AuditWriter; readonly denials: DenialCounter; readonly clock: Clock },
): Refusals<Subject> {
  const { audit, denials, clock } = options;

  const refuse: Refusals<Subject>['refuse'] = async (subject, serviceName, denial) => {
    const touchCaller = isStale(subject, clock.now());
    await audit.record(eventOf(subject, serviceName, denial), { touchCaller });
    return denied(denial);
  };
  const counted: Refusals<Subject>['counted'] = (subject, denial) => {
    denials.count(eventOf(subject, undefined, denial));
    return denied(denial);
  };

  return {
    refuse,
    counted,
    // Not limited, so counted: a suspended agent that keeps asking must not fill the disk.
    denyUncounted: async (subject, serviceName, denial) => {
      if (denials.countRepeat(eventOf(subject, undefined, denial))) return denied(denial);
      return refuse(subject, serviceName, denial);
    },
    limited: async (subject, serviceName, { scope, key, retryAfterSeconds }, rates) => {
      const rate = rates.find(({ counter }) => counter.key === key);
      if (rate !== undefined)
        return refuse(subject, serviceName, { code: 'POLICY_DENIED', ...rate.denial, retryAfterSeconds });
      return counted(subject, { code: 'RATE_LIMITED', scope, retryAfterSeconds });
    },
  };
}
