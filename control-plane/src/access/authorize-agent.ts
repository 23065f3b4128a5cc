import type { DenialCounter } from '../audit/denial-counter.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Limits } from '../limits/limits.ts';
import type { PolicyEvaluator, RateUse } from '../policies/policy-verdict.ts';
import type { Access, AccessRequest, Question } from './access.ts';
import { accessEvent } from './access-event.ts';
import type { AccessStore, AccessSubject, ListingSubject } from './access-store.ts';
import type { AgentCredential } from '../core/agent.ts';
import { countOnce } from './counted-once.ts';
import type { Decision } from './decision.ts';
import { type Denial, denied, plainDenial } from './denial.ts';
import type { ExpiredGrants } from './expired-grants.ts';
import { createDenyMissingGrant } from './missing-grant.ts';
import { type Evaluation, createEvaluateRequest } from './evaluate-request.ts';
import { type TicketDependencies, createIssueTicket } from './issue-ticket.ts';
import { createRefusals } from './refusals.ts';
import { retryOnConflict } from './retry-on-conflict.ts';

export interface AccessDependencies extends TicketDependencies {
  readonly store: AccessStore;
  readonly limiter: Limiter;
  readonly limits: Limits;
  readonly policies: PolicyEvaluator;
  readonly denials: DenialCounter;
  readonly expiredGrants: ExpiredGrants;
}

/**
 * Decides what an agent gets, at either of its doors. Everything that can refuse stands in `decide`, in `evaluateRequest`
 * (`evaluate-request.ts`) and in `issueTicket` in the order in which it is answered (contract.md, "Order of answers on a
 * credential request"); nothing else in the service hands out agents' tickets.
 *
 * The state is read from the database, at the request and again in the transaction that writes an access down: a
 * suspend, revoke, lock, unbinding, change of a policy or end of a session that was answered by then is in force, and no
 * access stands behind it in the log. Every decision about a known agent is on the disk before it is answered.
 */
export function createAccess(dependencies: AccessDependencies): Access {
  const { store, clock } = dependencies;
  const evaluateRequest = createEvaluateRequest(dependencies);
  const refusals = createRefusals<AccessSubject>(accessEvent, dependencies);
  const denyMissingGrant = createDenyMissingGrant(dependencies, refusals);
  const issueTicket = createIssueTicket(dependencies, refusals);

  function decide({ credential, door, question, sourceAddress }: AccessRequest): Promise<Decision> {
    if (credential === undefined) return Promise.resolve(denied(plainDenial('INVALID_KEY')));
    const serviceName = serviceNameIn(question);
    const count = countOnce(dependencies);
    return retryOnConflict(async () => {
      const subject = await subjectOf(credential, question, serviceName);
      if (subject === undefined) return denied(plainDenial('INVALID_KEY'));
      const denial = checkCaller(door, subject);
      if (denial !== undefined) return refusals.denyUncounted(subject, serviceName, denial);

      const evaluation = evaluateRequest(subject, { question, sourceAddress }, clock.now());
      const { vaultId, agentId } = subject;
      const { extraCounters } = evaluation;
      const verdict = await count(subject, {
        callerId: agentId,
        traffic: trafficOf(question),
        extraCounters,
      });
      if (!verdict.allowed) return refusals.limited(subject, serviceName, verdict, ratesIn(evaluation));

      switch (evaluation.kind) {
        case 'admitted':
          return { outcome: 'admitted', caller: { vaultId, agentId } };
        case 'grants':
          return { outcome: 'grants', caller: { vaultId, agentId }, grants: subject.grants ?? [] };
        case 'grant':
          return { outcome: 'grant', caller: { vaultId, agentId }, grant: evaluation.grant };
        case 'denied':
          return refusals.refuse(subject, serviceName, evaluation.denial);
        case 'missing-grant':
          return denyMissingGrant(subject, evaluation.serviceName);
        case 'access':
          return issueTicket(subject, { credential, door }, evaluation);
      }
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

  return { decide };
}

type Subject = AccessSubject & Partial<ListingSubject>;

/** What keeps a known agent out before any limit is asked. */
function checkCaller(door: AccessRequest['door'], { status, mcpEnabled }: AccessSubject): Denial | undefined {
  if (status !== 'active') return plainDenial('AGENT_INACTIVE');
  return door === 'mcp' && mcpEnabled === 0 ? plainDenial('MCP_DISABLED') : undefined;
}

const serviceNameIn = (question: Question): string | undefined =>
  'serviceName' in question ? question.serviceName : undefined;

const trafficOf = (question: Question): 'agent_credentials' | 'mcp_handshake' =>
  question.kind === 'nothing' ? question.traffic : 'agent_credentials';

const NO_RATES: readonly RateUse[] = [];
const ratesIn = (evaluation: Evaluation): readonly RateUse[] =>
  evaluation.kind === 'access' ? evaluation.rates : NO_RATES;
