import {
  type Access,
  type AccessRequest,
  type Decision,
  type Denial,
  type Operation,
  denied,
  plainDenial,
} from './decision.ts';
import { type ApprovalWaiters, decideInTime } from './approval-waiters.ts';
import { approvedUse } from './approved-use.ts';
import type { ApprovalAsked } from './ask-approval.ts';
import { type AgentResult, type AllowedAccess, evaluateAgentRequest } from './evaluate-request.ts';
import { type ExpiredGrants, denyMissingGrant } from './missing-grant.ts';
import { type PipelineDependencies, countOnce, runPipeline } from './pipeline.ts';
import { type DenialRecorder, agentDenialEvent, agentOrigin, createDenialRecorder } from './record-denial.ts';
import type { SealedApprovals } from './sealed-approvals.ts';
import { type AccessStore, type AgentSubject, type BoundWebhook, isStale, webhookOf } from './subject.ts';

interface AccessDependencies extends PipelineDependencies {
  readonly store: AccessStore;
  readonly expiredGrants: ExpiredGrants;
  readonly sealedApprovals: SealedApprovals;
  readonly waiters: ApprovalWaiters;
  /** Signs a ticket for one use and puts it into the webhook's URL. */
  readonly issueCredentialUrl: (
    subject: AgentSubject,
    webhook: BoundWebhook,
    serviceName: string,
    requestId: string,
  ) => { readonly url: string; readonly expiresAt: number };
}

/** Decides what an agent gets, on either of its channels. */
export function createAccess(dependencies: AccessDependencies): Access {
  const {
    store,
    audit,
    approvals,
    sealedApprovals,
    waiters,
    expiredGrants,
    issueCredentialUrl,
    offlineForSeconds,
    clock,
  } = dependencies;
  const denialsOf = createDenialRecorder(agentDenialEvent, dependencies);

  /**
   * The last steps of an allowed access: an approval, a webhook, the audit event, and only then the ticket.
   *
   * @returns undefined, with nothing written and no ticket, where the precondition failed
   */
  async function authorizeAccess(
    subject: AgentSubject,
    request: Omit<AccessRequest, 'credential' | 'operation'> & {
      readonly denials: DenialRecorder<AgentSubject>;
    },
    { serviceName, uses, approval }: AllowedAccess,
  ): Promise<Decision | undefined> {
    const { channel, origin, denials } = request;
    const { vaultId, agentId, accountRevision } = subject;
    const asked = (): ApprovalAsked => ({ ...askedBy(subject, serviceName, request), request: undefined });
    const approved = await approvedUse(approvals, approval, asked);
    if (approved.denial !== undefined) return denials.deny(subject, serviceName, approved.denial);
    const webhook = webhookOf(subject);
    if (webhook === undefined)
      return denials.deny(subject, serviceName, plainDenial('WEBHOOK_NOT_CONFIGURED'));
    // The specification's list of MCP errors is closed and does not have this one.
    const retryAfterSeconds = channel === 'mcp' ? 0 : offlineForSeconds(vaultId);
    if (retryAfterSeconds > 0)
      return denials.deny(subject, serviceName, { code: 'WEBHOOK_UNAVAILABLE', retryAfterSeconds });
    const sealed = await sealedDenial(subject, asked, request);
    if (sealed !== undefined) return denials.deny(subject, serviceName, sealed);

    const isRecorded = await audit.record(
      {
        ...{ vaultId, agentId, serviceName, eventType: 'AGENT_CREDENTIAL_ACCESS', outcome: 'success' },
        origin: agentOrigin(subject, origin),
      },
      {
        touchCaller: isStale(subject, clock.now()),
        onlyIf: { accountRevision, expiresAt: earliestExpiry(subject), uses: [...uses, ...approved.uses] },
      },
    );
    return isRecorded
      ? { outcome: 'ticket', ...issueCredentialUrl(subject, webhook, serviceName, origin.requestId) }
      : undefined;
  }

  /** What the credential's own record asks for, beside all that is decided here. */
  async function sealedDenial(
    { approval }: AgentSubject,
    asked: () => ApprovalAsked,
    { channel, waiting, reason }: Pick<AccessRequest, 'channel' | 'waiting' | 'reason'>,
  ): Promise<Denial | undefined> {
    const isKnown = approval?.split(' ').includes('credential') === true;
    // An agent that says why, or waits, expects a person to decide: the webhook is asked although nothing is known.
    if (!isKnown && waiting === undefined && reason === undefined) return undefined;
    const verdict = await sealedApprovals.ask(asked(), { type: 'credential' }, isKnown);
    switch (verdict.kind) {
      case 'open':
        return { code: 'APPROVAL_REQUIRED', approval: verdict.open };
      case 'unavailable': {
        const { retryAfterSeconds } = verdict;
        return isKnown || channel === 'rest' ? { code: 'WEBHOOK_UNAVAILABLE', retryAfterSeconds } : undefined;
      }
      case 'approved':
      case 'not_required':
      case 'refused':
        return undefined;
    }
  }

  async function askForGrant(
    subject: AgentSubject,
    serviceName: string,
    request: Pick<AccessRequest, 'origin' | 'reason'> & { readonly denials: DenialRecorder<AgentSubject> },
  ): Promise<Decision> {
    const { vaultId, agentId } = subject;
    const approval = await approvals.ofAccess(askedBy(subject, serviceName, request));
    if (approval === undefined) return request.denials.deny(subject, serviceName, TOO_MANY_OPEN);
    return { outcome: 'access_requested', caller: { vaultId, agentId, accessRequests: true }, approval };
  }

  return {
    decide: async ({ credential, operation, ...request }) => {
      const { channel, waiting, origin } = request;
      if (credential === undefined) return denied(plainDenial('INVALID_KEY'));
      const serviceName = 'serviceName' in operation ? operation.serviceName : undefined;
      const denials = denialsOf(origin);
      const steps = {
        serviceName,
        traffic: trafficOf(operation),
        count: countOnce(dependencies.limiter),
        find: () =>
          operation.kind === 'grants'
            ? store.findWithGrants(credential, clock.now())
            : store.find(credential, serviceName ?? '', clock.now()),
        check: (subject: AgentSubject) => checkAgent(channel, subject),
        callerId: ({ agentId }: AgentSubject) => agentId,
        evaluate: (subject: AgentSubject, nowMs: number) =>
          evaluateAgentRequest(dependencies, subject, { operation, origin }, nowMs),
        conclude: (subject: AgentSubject, result: AgentResult) => {
          switch (result.kind) {
            case 'answer':
              return result.answer;
            case 'missing-grant':
              return denyMissingGrant(expiredGrants, denials, subject, result.serviceName);
            case 'access-request':
              return askForGrant(subject, result.serviceName, { ...request, denials });
            case 'access':
              return authorizeAccess(subject, { ...request, denials }, result);
          }
        },
      };
      return decideInTime({ waiters, clock }, waiting, () => runPipeline(dependencies, denials, steps));
    },
  };
}

/** Why an agent may not ask by a channel, whatever it asks for. */
export function checkAgent(
  channel: AccessRequest['channel'],
  { status, mcpEnabled }: Pick<AgentSubject, 'status' | 'mcpEnabled'>,
): Denial | undefined {
  if (status !== 'active') return plainDenial('AGENT_INACTIVE');
  return channel === 'mcp' && mcpEnabled === 0 ? plainDenial('MCP_DISABLED') : undefined;
}

/** Some open one will have ended. */
const TOO_MANY_OPEN = { code: 'RATE_LIMITED', scope: 'open_approvals', retryAfterSeconds: 60 } as const;

const askedBy = (
  { vaultId, agentId }: AgentSubject,
  serviceName: string,
  { reason, origin }: Pick<AccessRequest, 'reason' | 'origin'>,
) => ({ vaultId, caller: { type: 'agent', id: agentId }, serviceName, reason, origin }) as const;

const trafficOf = (operation: Operation): 'agent_credentials' | 'mcp_handshake' =>
  operation.kind === 'admission' ? operation.traffic : 'agent_credentials';

/** ISO 8601 of the access token or the grant, whichever expires first; null where neither does. */
function earliestExpiry({ credentialExpiresAt, grantExpiresAt }: AgentSubject): string | null {
  if (credentialExpiresAt === null || grantExpiresAt === null) return credentialExpiresAt ?? grantExpiresAt;
  return credentialExpiresAt < grantExpiresAt ? credentialExpiresAt : grantExpiresAt;
}
