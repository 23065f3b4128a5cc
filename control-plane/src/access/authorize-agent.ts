import {
  type Access,
  type AccessRequest,
  type Decision,
  type Denial,
  type Operation,
  denied,
  plainDenial,
} from './decision.ts';
import { type AllowedAccess, evaluateAgentRequest } from './evaluate-request.ts';
import { type ExpiredGrants, denyMissingGrant } from './missing-grant.ts';
import { type PipelineDependencies, countOnce, runPipeline } from './pipeline.ts';
import { type DenialRecorder, agentDenialEvent, agentOrigin, createDenialRecorder } from './record-denial.ts';
import { type AccessStore, type AgentSubject, type BoundWebhook, isStale, webhookOf } from './subject.ts';

interface AccessDependencies extends PipelineDependencies {
  readonly store: AccessStore;
  readonly expiredGrants: ExpiredGrants;
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
  const { store, audit, expiredGrants, issueCredentialUrl, offlineForSeconds, clock } = dependencies;
  const denialsOf = createDenialRecorder(agentDenialEvent, dependencies);

  /**
   * The last steps of an allowed access: a webhook, the audit event, and only then the ticket.
   *
   * @returns undefined, with nothing written and no ticket, where the precondition failed
   */
  async function authorizeAccess(
    subject: AgentSubject,
    request: Pick<AccessRequest, 'channel' | 'origin'> & { readonly denials: DenialRecorder<AgentSubject> },
    { serviceName, uses }: AllowedAccess,
  ): Promise<Decision | undefined> {
    const { channel, origin, denials } = request;
    const { vaultId, agentId, accountRevision } = subject;
    const webhook = webhookOf(subject);
    if (webhook === undefined)
      return denials.deny(subject, serviceName, plainDenial('WEBHOOK_NOT_CONFIGURED'));
    // The specification's list of MCP errors is closed and does not have this one.
    const retryAfterSeconds = channel === 'mcp' ? 0 : offlineForSeconds(vaultId);
    if (retryAfterSeconds > 0)
      return denials.deny(subject, serviceName, { code: 'WEBHOOK_UNAVAILABLE', retryAfterSeconds });

    const isRecorded = await audit.record(
      {
        ...{ vaultId, agentId, serviceName, eventType: 'AGENT_CREDENTIAL_ACCESS', outcome: 'success' },
        origin: agentOrigin(subject, origin),
      },
      {
        touchCaller: isStale(subject, clock.now()),
        onlyIf: { accountRevision, expiresAt: earliestExpiry(subject), uses },
      },
    );
    return isRecorded
      ? { outcome: 'ticket', ...issueCredentialUrl(subject, webhook, serviceName, origin.requestId) }
      : undefined;
  }

  return {
    decide: async ({ credential, channel, operation, origin }) => {
      if (credential === undefined) return denied(plainDenial('INVALID_KEY'));
      const serviceName = 'serviceName' in operation ? operation.serviceName : undefined;
      const denials = denialsOf(origin);
      return runPipeline(dependencies, denials, {
        serviceName,
        traffic: trafficOf(operation),
        count: countOnce(dependencies.limiter),
        find: () =>
          operation.kind === 'grants'
            ? store.findWithGrants(credential, clock.now())
            : store.find(credential, serviceName ?? '', clock.now()),
        check: (subject) => checkAgent(channel, subject),
        callerId: ({ agentId }) => agentId,
        evaluate: (subject, nowMs) =>
          evaluateAgentRequest(dependencies, subject, { operation, origin }, nowMs),
        conclude: (subject, result) => {
          switch (result.kind) {
            case 'answer':
              return result.answer;
            case 'missing-grant':
              return denyMissingGrant(expiredGrants, denials, subject, result.serviceName);
            case 'access':
              return authorizeAccess(subject, { channel, origin, denials }, result);
          }
        },
      });
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

const trafficOf = (operation: Operation): 'agent_credentials' | 'mcp_handshake' =>
  operation.kind === 'admission' ? operation.traffic : 'agent_credentials';

/** ISO 8601 of the access token or the grant, whichever expires first; null where neither does. */
function earliestExpiry({ credentialExpiresAt, grantExpiresAt }: AgentSubject): string | null {
  if (credentialExpiresAt === null || grantExpiresAt === null) return credentialExpiresAt ?? grantExpiresAt;
  return credentialExpiresAt < grantExpiresAt ? credentialExpiresAt : grantExpiresAt;
}
