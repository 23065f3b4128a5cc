import { type Clock, type Id, formatTime, hashKey, isServiceName, isWellFormedKey } from '@svault/shared';
import type { AuditWriter } from '../audit/audit-writer.ts';
import type { DenialCounter } from '../audit/denial-counter.ts';
import type { Counter, Limiter, LimiterVerdict } from '../limits/limiter.ts';
import type { Limits } from '../limits/limits.ts';
import type { LifetimeUse, PolicyEvaluator, RateUse } from '../policies/policy-verdict.ts';
import { refusal } from '../errors.ts';
import { accessEvent } from './access-event.ts';
import type { AccessStore, AccessSubject } from './access-store.ts';
import { type Decision, type Denial, denied, plainDenial } from './decision.ts';
import type { ExpiredGrants } from './expired-grants.ts';

/** A request for a credential, or for the list of grants, by whatever door it came. */
export interface AccessRequest {
  /** The agent's key as presented; undefined where there was none. */
  readonly key: string | undefined;
  /** Every value given for the service: none asks for the list, more than one is refused. */
  readonly services: readonly string[];
  /** The caller's IP address, where it is known. */
  readonly sourceAddress: string | undefined;
}

export interface Access {
  /** @throws AppError AUDIT_UNAVAILABLE when the decision cannot be recorded: then nothing was given */
  decide(request: AccessRequest): Promise<Decision>;
}

/** A vault's webhook as the decision needs it. */
export interface BoundWebhook {
  readonly webhookId: string;
  readonly url: string;
  readonly keyId: string;
  /** base64url of the key under the master key. */
  readonly keyWrapped: string;
}

export interface AccessDependencies {
  readonly store: AccessStore;
  readonly limiter: Limiter;
  readonly limits: Limits;
  readonly policies: PolicyEvaluator;
  readonly audit: AuditWriter;
  readonly denials: DenialCounter;
  readonly expiredGrants: ExpiredGrants;
  /** Seconds until a vault's webhook that is known to be offline is asked again; 0 when it is not known to be. */
  readonly offlineForSeconds: (vaultId: Id<'vlt'>) => number;
  /** Signs a ticket for one use and puts it into the webhook's address. */
  readonly issueCredentialUrl: (
    subject: AccessSubject,
    webhook: BoundWebhook,
    serviceName: string,
  ) => { readonly url: string; readonly expiresAt: number };
  readonly clock: Clock;
}

const LAST_USED_RESOLUTION_MS = 60_000;

type Refused = Extract<LimiterVerdict, { readonly allowed: false }>;

/** A request that grant and policies allow, and what of it is still to be counted. */
interface ForeseenAccess {
  readonly serviceName: string;
  readonly sourceAddress: string | undefined;
  readonly grantId: Id<'grt'>;
  readonly rates: readonly RateUse[];
  readonly uses: readonly LifetimeUse[];
}

/** What stands behind the limits; `further` is what the limiter counts with it. */
type Outlook = { readonly further: readonly Counter[] } & (
  | { readonly kind: 'list' }
  | { readonly kind: 'denied'; readonly denial: Denial }
  | { readonly kind: 'miss'; readonly serviceName: string }
  | ({ readonly kind: 'access' } & ForeseenAccess)
);

const NONE: readonly Counter[] = [];
const foreseenDenial = (denial: Denial): Outlook => ({ kind: 'denied', denial, further: NONE });

/**
 * Decides who gets a credential. Everything that can refuse stands in `decide` in the order in which it is asked
 * (contract.md, "Order of answers on a credential request"); nothing else in the service hands out agents' tickets.
 *
 * The state is read from the database, at the request and again in the transaction that writes an access down: a
 * suspend, revoke, lock or unbinding that was answered by then is in force, and no access stands behind it in the log.
 * Every decision about a known agent is on the disk before it is answered.
 */
export function createAccess(dependencies: AccessDependencies): Access {
  const { store, limiter, limits, policies, audit, denials, expiredGrants, clock } = dependencies;

  async function decide({ key, services, sourceAddress }: AccessRequest): Promise<Decision> {
    if (key === undefined) return denied(plainDenial('MISSING_KEY'));
    if (!isWellFormedKey('svagent', key)) return denied(plainDenial('INVALID_KEY'));
    const nowMs = clock.now();
    const serviceName = soleServiceName(services);
    const keyHash = hashKey(key);
    const subject = await store.findByKeyHash(keyHash, serviceName ?? '');
    if (subject === undefined) return denied(plainDenial('INVALID_KEY'));
    // Not limited before this point, so counted: a suspended agent that keeps asking must not fill the disk.
    if (subject.status !== 'active') return refuseInactive(subject, serviceName);

    const outlook = foresee(subject, { services, serviceName, sourceAddress, nowMs });
    const admitted = await limiter.admit({
      vaultId: subject.vaultId,
      callerId: subject.agentId,
      traffic: 'agent_credentials',
      aggregateLimit: limits.aggregate(subject),
      further: outlook.further,
    });
    if (!admitted.allowed) return refuseLimited(subject, serviceName, admitted, outlook);

    if (outlook.kind === 'list') return listGrants(subject, nowMs);
    if (outlook.kind === 'denied') return refuse(subject, serviceName, outlook.denial);
    if (outlook.kind === 'miss') return refuseMiss(subject, outlook.serviceName);
    return provide(subject, keyHash, outlook);
  }

  /**
   * What a request comes to once the limits let it through, in the contract's order. Looked at before they are asked, since
   * a miss and a policy's own rate are counted in the same step as the floor; answered only behind them.
   */
  function foresee(
    subject: AccessSubject,
    asked: {
      readonly services: readonly string[];
      readonly serviceName: string | undefined;
      readonly sourceAddress: string | undefined;
      readonly nowMs: number;
    },
  ): Outlook {
    const { serviceName, sourceAddress, nowMs } = asked;
    if (asked.services.length === 0) return { kind: 'list', further: NONE };
    if (serviceName === undefined) return foreseenDenial(plainDenial('INVALID_SERVICE'));
    if (subject.vaultLockedAt !== null) return foreseenDenial(plainDenial('VAULT_LOCKED'));
    const grantId = liveGrant(subject, nowMs);
    if (grantId === undefined)
      return { kind: 'miss', serviceName, further: [limits.counter('agent_no_grant', subject.agentId)] };
    const verdict = policies.evaluate({ policies: subject.policies, sourceAddress, nowMs });
    if (!verdict.allowed) {
      const { allowed: _, ...particulars } = verdict;
      return foreseenDenial({ code: 'POLICY_DENIED', ...particulars });
    }
    const { rates, uses } = verdict;
    return {
      kind: 'access',
      serviceName,
      sourceAddress,
      grantId,
      rates,
      uses,
      further: rates.map(({ counter }) => counter),
    };
  }

  /** All that is left once limits and policies allow: a webhook, and the line in the log. */
  async function provide(subject: AccessSubject, keyHash: string, access: ForeseenAccess): Promise<Decision> {
    const { vaultId, agentId } = subject;
    const { serviceName, grantId, uses } = access;
    const webhook = boundWebhook(subject);
    if (webhook === undefined) return refuse(subject, serviceName, plainDenial('WEBHOOK_NOT_CONFIGURED'));
    const retryAfterSeconds = dependencies.offlineForSeconds(vaultId);
    if (retryAfterSeconds > 0)
      return refuse(subject, serviceName, { code: 'WEBHOOK_UNAVAILABLE', retryAfterSeconds });

    const touchAgent = isStale(subject.lastUsedAt, clock.now());
    const recorded = await audit.record(
      { vaultId, agentId, serviceName, eventType: 'AGENT_CREDENTIAL_ACCESS', outcome: 'success' },
      { touchAgent, provided: { keyHash, grantId, webhookId: webhook.webhookId, uses } },
    );
    if (!recorded) return refuseWithdrawn(keyHash, access);
    return { outcome: 'ticket', ...dependencies.issueCredentialUrl(subject, webhook, serviceName) };
  }

  /**
   * The access was withdrawn after it was decided and before it was written down. What withdrew it is the answer;
   * limits and policies have counted this request already.
   */
  async function refuseWithdrawn(
    keyHash: string,
    { serviceName, sourceAddress }: ForeseenAccess,
  ): Promise<Decision> {
    const subject = await store.findByKeyHash(keyHash, serviceName);
    if (subject === undefined) return denied(plainDenial('INVALID_KEY'));
    if (subject.status !== 'active') return refuseInactive(subject, serviceName);
    const asked = { services: [serviceName], serviceName, sourceAddress, nowMs: clock.now() };
    const outlook = foresee(subject, asked);
    if (outlook.kind === 'denied') return refuse(subject, serviceName, outlook.denial);
    if (outlook.kind === 'miss') return refuseCountedMiss(subject, serviceName);
    if (boundWebhook(subject) === undefined)
      return refuse(subject, serviceName, plainDenial('WEBHOOK_NOT_CONFIGURED'));
    // Withdrawn and given again within a moment: what stands now is the next request's.
    throw refusal('AUDIT_UNAVAILABLE', 'The access changed while it was being recorded; ask again.', {
      details: { retryAfter: 1 },
    });
  }

  async function listGrants(subject: AccessSubject, nowMs: number): Promise<Decision> {
    return { outcome: 'grants', grants: await store.liveGrants(subject.agentId, formatTime(nowMs)) };
  }

  async function refuse(
    subject: AccessSubject,
    serviceName: string | undefined,
    denial: Denial,
  ): Promise<Decision> {
    await audit.record(accessEvent(subject, serviceName, denial), {
      touchAgent: isStale(subject.lastUsedAt, clock.now()),
    });
    return denied(denial);
  }

  async function refuseInactive(subject: AccessSubject, serviceName: string | undefined): Promise<Decision> {
    const denial = plainDenial('AGENT_INACTIVE');
    if (denials.countRepeat(accessEvent(subject, undefined, denial))) return denied(denial);
    return refuse(subject, serviceName, denial);
  }

  /** One event per agent, code and minute (contract.md, "Events"); a policy's own rate is a denial of that policy. */
  async function refuseLimited(
    subject: AccessSubject,
    serviceName: string | undefined,
    { key, retryAfterSeconds }: Refused,
    outlook: Outlook,
  ): Promise<Decision> {
    const rates = outlook.kind === 'access' ? outlook.rates : [];
    const rate = rates.find(({ counter }) => counter.key === key);
    if (rate !== undefined)
      return refuse(subject, serviceName, { code: 'POLICY_DENIED', ...rate.denial, retryAfterSeconds });
    const denial: Denial = { code: 'RATE_LIMITED', retryAfterSeconds };
    denials.count(accessEvent(subject, undefined, denial));
    return denied(denial);
  }

  /** No grant, or one that has lapsed: that one is deleted now, and answered as lapsed by the request that does it. */
  async function refuseMiss(subject: AccessSubject, serviceName: string): Promise<Decision> {
    if (subject.grantId === null) return refuse(subject, serviceName, plainDenial('NO_GRANT'));
    const lapsed = plainDenial('GRANT_EXPIRED');
    const deleted = await expiredGrants.remove(subject, [
      { ...accessEvent(subject, serviceName, lapsed), eventType: 'GRANT_EXPIRED', outcome: 'success' },
      accessEvent(subject, serviceName, lapsed),
    ]);
    return deleted ? denied(lapsed) : refuse(subject, serviceName, plainDenial('NO_GRANT'));
  }

  /** A miss that shows only after the request was admitted. */
  async function refuseCountedMiss(subject: AccessSubject, serviceName: string): Promise<Decision> {
    const admitted = await limiter.take(limits.counter('agent_no_grant', subject.agentId));
    if (admitted.allowed) return refuseMiss(subject, serviceName);
    const denial: Denial = { code: 'RATE_LIMITED', retryAfterSeconds: admitted.retryAfterSeconds };
    denials.count(accessEvent(subject, undefined, denial));
    return denied(denial);
  }

  return { decide };
}

/** The name asked for, or undefined where there is not exactly one legal name. */
function soleServiceName(services: readonly string[]): string | undefined {
  const [name] = services;
  return services.length === 1 && name !== undefined && isServiceName(name) ? name : undefined;
}

/** The grant that a request rests on; undefined where there is none, or one that has lapsed. */
function liveGrant({ grantId, grantExpiresAt }: AccessSubject, nowMs: number): Id<'grt'> | undefined {
  const lapsed = grantExpiresAt !== null && grantExpiresAt <= formatTime(nowMs);
  return grantId === null || lapsed ? undefined : grantId;
}

function boundWebhook(subject: AccessSubject): BoundWebhook | undefined {
  const { webhookId, webhookUrl, keyId, keyWrapped } = subject;
  if (webhookId === null || webhookUrl === null || keyId === null || keyWrapped === null) return undefined;
  return { webhookId, url: webhookUrl, keyId, keyWrapped };
}

/** `lastUsedAt` is written at most once a minute, so that it costs the hot path nothing. */
const isStale = (lastUsedAt: string | null, nowMs: number): boolean =>
  lastUsedAt === null || nowMs - Date.parse(lastUsedAt) >= LAST_USED_RESOLUTION_MS;
