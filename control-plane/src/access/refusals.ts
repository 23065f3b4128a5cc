import type { Clock } from '@svault/shared';
import type { NewAuditEvent } from '../audit/audit-event.ts';
import type { AuditWriter } from '../audit/audit-writer.ts';
import type { DenialCounter } from '../audit/denial-counter.ts';
import type { LimiterDenial } from '../limits/limiter.ts';
import { accessEvent } from './access-event.ts';
import type { AccessSubject } from './access-store.ts';
import { type Decision, type Denial, denied, plainDenial } from './decision.ts';
import type { ExpiredGrants } from './expired-grants.ts';
import { isStale } from './last-used.ts';
import type { Outlook } from './outlook.ts';

/** Denials of a known agent: each is in the log, or counted into it, before it is answered. */
export interface Refusals {
  /** @param serviceName named in the log only where it is a legal one */
  refuse(subject: AccessSubject, serviceName: string | undefined, denial: Denial): Promise<Decision>;
  /** Of an agent that no limit has counted. */
  barred(subject: AccessSubject, serviceName: string | undefined, denial: Denial): Promise<Decision>;
  /** By the limiter. A policy's own rate is a denial of that policy. */
  limited(
    subject: AccessSubject,
    serviceName: string | undefined,
    refused: LimiterDenial,
    outlook: Outlook,
  ): Promise<Decision>;
  /**
   * No grant, or one that has lapsed: that one is deleted now, and answered as lapsed by the request that does it. A locked
   * vault keeps it, and answers the same.
   */
  miss(subject: AccessSubject, serviceName: string): Promise<Decision>;
}

/** @throws AppError AUDIT_UNAVAILABLE, each of them, when the denial cannot be recorded */
export function createRefusals(options: {
  readonly audit: AuditWriter;
  readonly denials: DenialCounter;
  readonly expiredGrants: ExpiredGrants;
  readonly clock: Clock;
}): Refusals {
  const { audit, denials, expiredGrants, clock } = options;

  const refuse: Refusals['refuse'] = async (subject, serviceName, denial) => {
    const touchAgent = isStale(subject.lastUsedAt, clock.now());
    await audit.record(accessEvent(subject, serviceName, denial), { touchAgent });
    return denied(denial);
  };

  return {
    refuse,
    // Not limited, so counted: a suspended agent that keeps asking must not fill the disk.
    barred: async (subject, serviceName, denial) => {
      if (denials.countRepeat(accessEvent(subject, undefined, denial))) return denied(denial);
      return refuse(subject, serviceName, denial);
    },
    // One event per agent, code and minute (contract.md, "Events").
    limited: async (subject, serviceName, { scope, key, retryAfterSeconds }, outlook) => {
      const rates = outlook.kind === 'access' ? outlook.rates : [];
      const rate = rates.find(({ counter }) => counter.key === key);
      if (rate !== undefined)
        return refuse(subject, serviceName, { code: 'POLICY_DENIED', ...rate.denial, retryAfterSeconds });
      const denial: Denial = { code: 'RATE_LIMITED', scope, retryAfterSeconds };
      denials.count(accessEvent(subject, undefined, denial));
      return denied(denial);
    },
    miss: async (subject, serviceName) => {
      if (subject.grantId === null) return refuse(subject, serviceName, plainDenial('NO_GRANT'));
      const lapsed = plainDenial('GRANT_EXPIRED');
      if (subject.vaultLockedAt !== null) return refuse(subject, serviceName, lapsed);
      const denial = accessEvent(subject, serviceName, lapsed);
      const expiry: NewAuditEvent = { ...denial, eventType: 'GRANT_EXPIRED', outcome: 'success' };
      const wasFirst = await expiredGrants.remove(subject, { expiry, denial });
      return wasFirst ? denied(lapsed) : refuse(subject, serviceName, plainDenial('NO_GRANT'));
    },
  };
}
