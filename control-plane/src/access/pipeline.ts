import type { Clock, Id } from '@svault/shared';
import type { AuditWriter } from '../audit/audit-writer.ts';
import type { DenialCounter } from '../audit/denial-counter.ts';
import { refusal } from '../errors.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Limits } from '../limits/limits.ts';
import type { PolicyEvaluator } from '../policies/policy-verdict.ts';
import type { Access, AccessRequest, Question } from './access.ts';
import type { AccessStore, AccessSubject, ListedGrant, ListingSubject } from './access-store.ts';
import type { AgentCredential } from './agent-credential.ts';
import { type Caller, type Decision, type Denial, denied, plainDenial } from './decision.ts';
import type { ExpiredGrants } from './expired-grants.ts';
import { isStale } from './last-used.ts';
import { type AccessOutlook, type Outlook, createForesee } from './outlook.ts';
import { createRefusals } from './refusals.ts';

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

/** A request with a credential that may be one, and how often it was decided. */
interface Attempt {
  readonly credential: AgentCredential;
  readonly request: AccessRequest;
  /** Read with the subject, where they are what is asked for. */
  readonly grants: readonly ListedGrant[];
  readonly count: number;
}

/** Each further one needs another change between a read and the write behind it. */
const MAX_ATTEMPTS = 3;

const NONE: readonly ListedGrant[] = [];

/**
 * Decides what an agent gets, at either of its doors. Everything that can refuse stands in `decide`, in `foresee`
 * (`outlook.ts`) and in `provide` in the order in which it is answered (contract.md, "Order of answers on a credential
 * request"); nothing else in the service hands out agents' tickets.
 *
 * The state is read from the database, at the request and again in the transaction that writes an access down: a
 * suspend, revoke, lock, unbinding or change of a policy that was answered by then is in force, and no access stands behind
 * it in the log. Every decision about a known agent is on the disk before it is answered.
 */
export function createAccess(dependencies: AccessDependencies): Access {
  const { store, limiter, limits, audit, clock } = dependencies;
  const foresee = createForesee(dependencies);
  const refusals = createRefusals(dependencies);

  async function decide(request: AccessRequest): Promise<Decision> {
    const { credential, question } = request;
    if (credential === undefined) return denied(plainDenial('INVALID_KEY'));
    const subject = await subjectOf(credential, question);
    if (subject === undefined) return denied(plainDenial('INVALID_KEY'));
    const bar = barOf(subject, request);
    if (bar !== undefined) return refusals.barred(subject, serviceNameIn(question), bar);

    const outlook = foresee(subject, request, clock.now());
    const admitted = await limiter.admit({
      vaultId: subject.vaultId,
      callerId: subject.agentId,
      traffic: question.kind === 'nothing' ? question.traffic : 'agent_credentials',
      aggregateLimit: limits.aggregate(subject),
      further: outlook.further,
    });
    if (!admitted.allowed) return refusals.limited(subject, serviceNameIn(question), admitted, outlook);
    return answer(subject, outlook, { credential, request, grants: subject.grants ?? NONE, count: 1 });
  }

  /** One read of all that any question needs. */
  const subjectOf = (
    credential: AgentCredential,
    question: Question,
  ): Promise<Subject | undefined> | Subject | undefined =>
    question.kind === 'grants'
      ? store.findWithGrants(credential, clock.now())
      : store.find(credential, serviceNameIn(question) ?? '', clock.now());

  /** Of a request that the limits let through. */
  async function answer(subject: AccessSubject, outlook: Outlook, attempt: Attempt): Promise<Decision> {
    switch (outlook.kind) {
      case 'admitted':
        return { outcome: 'admitted', caller: callerOf(subject) };
      case 'grants':
        return { outcome: 'grants', caller: callerOf(subject), grants: attempt.grants };
      case 'grant':
        return { outcome: 'grant', caller: callerOf(subject), grant: outlook.grant };
      case 'denied':
        return refusals.refuse(subject, serviceNameIn(attempt.request.question), outlook.denial);
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
    const { credential, request } = attempt;
    const webhook = boundWebhook(subject);
    if (webhook === undefined)
      return refusals.refuse(subject, serviceName, plainDenial('WEBHOOK_NOT_CONFIGURED'));
    const retryAfterSeconds = request.door === 'rest' ? dependencies.offlineForSeconds(vaultId) : 0;
    if (retryAfterSeconds > 0)
      return refusals.refuse(subject, serviceName, { code: 'WEBHOOK_UNAVAILABLE', retryAfterSeconds });

    const recorded = await audit.record(
      { vaultId, agentId, serviceName, eventType: 'AGENT_CREDENTIAL_ACCESS', outcome: 'success' },
      {
        touchAgent: isStale(subject.lastUsedAt, clock.now()),
        provided: {
          credential,
          withMcpOn: request.door === 'mcp',
          grantId,
          webhookId: webhook.webhookId,
          policyRevision,
          uses,
        },
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
    const { credential, request, count } = attempt;
    if (count === MAX_ATTEMPTS)
      throw refusal('AUDIT_UNAVAILABLE', 'The access kept changing while it was being recorded; ask again.', {
        details: { retryAfter: 1 },
      });
    const { serviceName } = former;
    const subject = await subjectOf(credential, request.question);
    if (subject === undefined) return denied(plainDenial('INVALID_KEY'));
    const bar = barOf(subject, request);
    if (bar !== undefined) return refusals.barred(subject, serviceName, bar);

    const outlook = foresee(subject, request, clock.now());
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

type Subject = AccessSubject & Partial<ListingSubject>;

/** What keeps a known agent out before any limit is asked. */
function barOf({ status, mcpEnabled }: AccessSubject, { door }: AccessRequest): Denial | undefined {
  if (status !== 'active') return plainDenial('AGENT_INACTIVE');
  return door === 'mcp' && mcpEnabled === 0 ? plainDenial('MCP_DISABLED') : undefined;
}

const serviceNameIn = (question: Question): string | undefined =>
  'serviceName' in question ? question.serviceName : undefined;

const callerOf = ({ vaultId, agentId }: AccessSubject): Caller => ({ vaultId, agentId });

function boundWebhook(subject: AccessSubject): BoundWebhook | undefined {
  const { webhookId, webhookUrl, keyId, keyWrapped } = subject;
  if (webhookId === null || webhookUrl === null || keyId === null || keyWrapped === null) return undefined;
  return { webhookId, url: webhookUrl, keyId, keyWrapped };
}
