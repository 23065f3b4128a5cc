import { type Clock, type Id, formatTime, hashKey, isServiceName, isWellFormedKey } from '@svault/shared';
import type { AuditWriter } from '../audit/audit-writer.ts';
import type { DenialCounter } from '../audit/denial-counter.ts';
import { refusal } from '../errors.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Limits } from '../limits/limits.ts';
import type { PolicyEvaluator } from '../policies/policy-verdict.ts';
import type { AccessStore, AccessSubject, ListedGrant, ListingSubject } from './access-store.ts';
import { type Decision, denied, plainDenial } from './decision.ts';
import type { ExpiredGrants } from './expired-grants.ts';
import { isStale } from './last-used.ts';
import { type AccessOutlook, type Asked, type Outlook, createForesee } from './outlook.ts';
import { createRefusals } from './refusals.ts';

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

/** A request once its key is known, and how often it was decided. */
interface Attempt {
  readonly keyHash: string;
  readonly asked: Asked;
  /** For the list. */
  readonly grants: readonly ListedGrant[];
  readonly count: number;
}

/** Each further one needs another change between a read and the write behind it. */
const MAX_ATTEMPTS = 3;

/**
 * Decides who gets a credential. Everything that can refuse stands in `decide`, in `foresee` (`outlook.ts`) and in `provide`
 * in the order in which it is answered (contract.md, "Order of answers on a credential request"); nothing else in the
 * service hands out agents' tickets.
 *
 * The state is read from the database, at the request and again in the transaction that writes an access down: a
 * suspend, revoke, lock, unbinding or change of a policy that was answered by then is in force, and no access stands behind
 * it in the log. Every decision about a known agent is on the disk before it is answered.
 */
export function createAccess(dependencies: AccessDependencies): Access {
  const { store, limiter, limits, audit, clock } = dependencies;
  const foresee = createForesee(dependencies);
  const refusals = createRefusals(dependencies);

  async function decide({ key, services, sourceAddress }: AccessRequest): Promise<Decision> {
    if (key === undefined) return denied(plainDenial('MISSING_KEY'));
    if (!isWellFormedKey('svagent', key)) return denied(plainDenial('INVALID_KEY'));
    const serviceName = soleServiceName(services);
    const asked = { isList: services.length === 0, serviceName, sourceAddress };
    const keyHash = hashKey(key);
    const subject: (AccessSubject & Partial<ListingSubject>) | undefined = asked.isList
      ? await store.findWithGrants(keyHash, formatTime(clock.now()))
      : await store.findByKeyHash(keyHash, serviceName ?? '');
    if (subject === undefined) return denied(plainDenial('INVALID_KEY'));
    if (subject.status !== 'active') return refusals.inactive(subject, serviceName);

    const outlook = foresee(subject, asked, clock.now());
    const admitted = await limiter.admit({
      vaultId: subject.vaultId,
      callerId: subject.agentId,
      traffic: 'agent_credentials',
      aggregateLimit: limits.aggregate(subject),
      further: outlook.further,
    });
    if (!admitted.allowed) return refusals.limited(subject, serviceName, admitted, outlook);
    return answer(subject, outlook, { keyHash, asked, grants: subject.grants ?? [], count: 1 });
  }

  /** Of a request that the limits let through. */
  async function answer(subject: AccessSubject, outlook: Outlook, attempt: Attempt): Promise<Decision> {
    switch (outlook.kind) {
      case 'list':
        return { outcome: 'grants', grants: attempt.grants };
      case 'denied':
        return refusals.refuse(subject, attempt.asked.serviceName, outlook.denial);
      case 'miss':
        return refusals.miss(subject, outlook.serviceName);
      case 'access':
        return provide(subject, outlook, attempt);
    }
  }

  /** All that is left once limits and policies allow: a webhook, and the line in the log. */
  async function provide(
    subject: AccessSubject,
    outlook: AccessOutlook,
    attempt: Attempt,
  ): Promise<Decision> {
    const { vaultId, agentId, policyRevision } = subject;
    const { serviceName, grantId, uses } = outlook;
    const webhook = boundWebhook(subject);
    if (webhook === undefined)
      return refusals.refuse(subject, serviceName, plainDenial('WEBHOOK_NOT_CONFIGURED'));
    const retryAfterSeconds = dependencies.offlineForSeconds(vaultId);
    if (retryAfterSeconds > 0)
      return refusals.refuse(subject, serviceName, { code: 'WEBHOOK_UNAVAILABLE', retryAfterSeconds });

    const { keyHash } = attempt;
    const recorded = await audit.record(
      { vaultId, agentId, serviceName, eventType: 'AGENT_CREDENTIAL_ACCESS', outcome: 'success' },
      {
        touchAgent: isStale(subject.lastUsedAt, clock.now()),
        provided: { keyHash, grantId, webhookId: webhook.webhookId, policyRevision, uses },
      },
    );
    if (!recorded) return decideAnew(outlook, attempt);
    return { outcome: 'ticket', ...dependencies.issueCredentialUrl(subject, webhook, serviceName) };
  }

  /**
   * What the decision rested on changed before it was written down, or the last use of a rule went to another request.
   * What stands now is the answer. The limits have counted this request already; only what is new is counted with it.
   */
  async function decideAnew(former: AccessOutlook, attempt: Attempt): Promise<Decision> {
    const { keyHash, asked, count } = attempt;
    if (count === MAX_ATTEMPTS)
      throw refusal('AUDIT_UNAVAILABLE', 'The access kept changing while it was being recorded; ask again.', {
        details: { retryAfter: 1 },
      });
    const { serviceName } = former;
    const subject = await store.findByKeyHash(keyHash, serviceName);
    if (subject === undefined) return denied(plainDenial('INVALID_KEY'));
    if (subject.status !== 'active') return refusals.inactive(subject, serviceName);

    const outlook = foresee(subject, asked, clock.now());
    const counted = new Set(former.further.map(({ key }) => key));
    for (const counter of outlook.further.filter(({ key }) => !counted.has(key))) {
      const taken = await limiter.take(counter, subject.vaultId);
      if (!taken.allowed)
        return refusals.limited(subject, serviceName, { ...taken, key: counter.key }, outlook);
    }
    return answer(subject, outlook, { ...attempt, count: count + 1 });
  }

  return { decide };
}

/** The name asked for, or undefined where there is not exactly one legal name. */
function soleServiceName(services: readonly string[]): string | undefined {
  const [name] = services;
  return services.length === 1 && name !== undefined && isServiceName(name) ? name : undefined;
}

function boundWebhook(subject: AccessSubject): BoundWebhook | undefined {
  const { webhookId, webhookUrl, keyId, keyWrapped } = subject;
  if (webhookId === null || webhookUrl === null || keyId === null || keyWrapped === null) return undefined;
  return { webhookId, url: webhookUrl, keyId, keyWrapped };
}
