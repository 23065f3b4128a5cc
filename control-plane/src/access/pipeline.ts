import type { DenialCounter } from '../audit/denial-counter.ts';
import { refusal } from '../errors.ts';
import type { Counter, Limiter, LimiterVerdict } from '../limits/limiter.ts';
import type { Limits } from '../limits/limits.ts';
import type { PolicyEvaluator } from '../policies/policy-verdict.ts';
import type { Access, AccessRequest, Question } from './access.ts';
import type { AccessStore, AccessSubject, ListingSubject } from './access-store.ts';
import type { AgentCredential } from './agent-credential.ts';
import { type Decision, type Denial, denied, plainDenial } from './decision.ts';
import type { ExpiredGrants } from './expired-grants.ts';
import { type Outlook, createForesee } from './outlook.ts';
import { type TicketDependencies, createProvideTicket } from './provide-ticket.ts';
import { createRefusals } from './refusals.ts';

export interface AccessDependencies extends TicketDependencies {
  readonly store: AccessStore;
  readonly limiter: Limiter;
  readonly limits: Limits;
  readonly policies: PolicyEvaluator;
  readonly denials: DenialCounter;
  readonly expiredGrants: ExpiredGrants;
}

/** Each further one needs another change between a read and the write behind it. */
const MAX_ATTEMPTS = 3;

/**
 * Decides what an agent gets, at either of its doors. Everything that can refuse stands in `decide`, in `foresee`
 * (`outlook.ts`) and in `provideTicket` in the order in which it is answered (contract.md, "Order of answers on a
 * credential request"); nothing else in the service hands out agents' tickets.
 *
 * The state is read from the database, at the request and again in the transaction that writes an access down: a
 * suspend, revoke, lock, unbinding, change of a policy or end of a session that was answered by then is in force, and no
 * access stands behind it in the log. Every decision about a known agent is on the disk before it is answered.
 */
export function createAccess(dependencies: AccessDependencies): Access {
  const { store, limiter, limits, clock } = dependencies;
  const foresee = createForesee(dependencies);
  const refusals = createRefusals(dependencies);
  const provideTicket = createProvideTicket(dependencies, refusals);

  async function decide({ credential, door, question, sourceAddress }: AccessRequest): Promise<Decision> {
    if (credential === undefined) return denied(plainDenial('INVALID_KEY'));
    const serviceName = serviceNameIn(question);
    let counted: readonly Counter[] | undefined;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const subject = await subjectOf(credential, question, serviceName);
      if (subject === undefined) return denied(plainDenial('INVALID_KEY'));
      const bar = barAt(door, subject);
      if (bar !== undefined) return refusals.barred(subject, serviceName, bar);

      const outlook = foresee(subject, { question, sourceAddress }, clock.now());
      const verdict = await (counted === undefined
        ? admit(subject, question, outlook)
        : countWhatIsNew(subject, outlook, counted));
      if (!verdict.allowed) return refusals.limited(subject, serviceName, verdict, outlook);

      const caller = { vaultId: subject.vaultId, agentId: subject.agentId };
      switch (outlook.kind) {
        case 'admitted':
          return { outcome: 'admitted', caller };
        case 'grants':
          return { outcome: 'grants', caller, grants: subject.grants ?? [] };
        case 'grant':
          return { outcome: 'grant', caller, grant: outlook.grant };
        case 'denied':
          return refusals.refuse(subject, serviceName, outlook.denial);
        case 'miss':
          return refusals.miss(subject, outlook.serviceName);
        case 'access': {
          const decision = await provideTicket(subject, { credential, door }, outlook);
          if (decision !== undefined) return decision;
          // What it rested on has changed, or the last use of a rule went to another request: what stands now is the answer.
          counted = [...(counted ?? []), ...outlook.further];
        }
      }
    }
    throw refusal('AUDIT_UNAVAILABLE', 'The access kept changing while it was being recorded; ask again.', {
      details: { retryAfter: 1 },
    });
  }

  /** One read of all that the question needs. */
  const subjectOf = (
    credential: AgentCredential,
    { kind }: Question,
    serviceName: string | undefined,
  ): Promise<Subject | undefined> | Subject | undefined =>
    kind === 'grants'
      ? store.findWithGrants(credential, clock.now())
      : store.find(credential, serviceName ?? '', clock.now());

  /** Penalty box, floor and aggregate, and whatever counts besides. */
  const admit = (
    subject: AccessSubject,
    question: Question,
    { further }: Outlook,
  ): Promise<LimiterVerdict> | LimiterVerdict =>
    limiter.admit({
      vaultId: subject.vaultId,
      callerId: subject.agentId,
      traffic: question.kind === 'nothing' ? question.traffic : 'agent_credentials',
      aggregateLimit: limits.aggregate(subject),
      further,
    });

  /** Of a request that the limits have counted already, under other outlooks. */
  const countWhatIsNew = async (
    { vaultId }: AccessSubject,
    { further }: Outlook,
    counted: readonly Counter[],
  ): Promise<LimiterVerdict> => {
    const known = new Set(counted.map(({ key }) => key));
    for (const counter of further.filter(({ key }) => !known.has(key))) {
      const taken = await limiter.take(counter, vaultId);
      if (!taken.allowed) return { ...taken, key: counter.key };
    }
    return { allowed: true };
  };

  return { decide };
}

type Subject = AccessSubject & Partial<ListingSubject>;

/** What keeps a known agent out before any limit is asked. */
function barAt(door: AccessRequest['door'], { status, mcpEnabled }: AccessSubject): Denial | undefined {
  if (status !== 'active') return plainDenial('AGENT_INACTIVE');
  return door === 'mcp' && mcpEnabled === 0 ? plainDenial('MCP_DISABLED') : undefined;
}

const serviceNameIn = (question: Question): string | undefined =>
  question.kind === 'nothing' || question.kind === 'grants' ? undefined : question.serviceName;
