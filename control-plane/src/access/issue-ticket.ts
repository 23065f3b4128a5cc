import type { Clock, Id } from '@svault/shared';
import type { AuditWriter } from '../audit/audit-writer.ts';
import type { AccessRequest } from './access.ts';
import type { AccessSubject } from './access-store.ts';
import type { AgentCredential } from '../core/agent.ts';
import { type BoundWebhook, isStale, webhookOf } from './caller-subject.ts';
import type { Decision } from './decision.ts';
import { plainDenial } from './denial.ts';
import type { AllowedAccess } from './evaluate-request.ts';
import type { Refusals } from './refusals.ts';

export interface TicketDependencies {
  readonly audit: AuditWriter;
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

/**
 * All that is left once limits, grant and policies allow: a webhook, the line in the log, and then the ticket.
 *
 * @returns undefined, with nothing written and nothing given, where what the decision rested on does not hold any more
 */
export type ProvideTicket = (
  subject: AccessSubject,
  asked: { readonly credential: AgentCredential; readonly door: AccessRequest['door'] },
  evaluation: AllowedAccess,
) => Promise<Decision | undefined>;

export function createIssueTicket(
  { audit, offlineForSeconds, issueCredentialUrl, clock }: TicketDependencies,
  refusals: Refusals<AccessSubject>,
): ProvideTicket {
  return async (subject, { credential, door }, { serviceName, grantId, uses }) => {
    const { vaultId, agentId, policyRevision } = subject;
    const webhook = webhookOf(subject);
    if (webhook === undefined)
      return refusals.refuse(subject, serviceName, plainDenial('WEBHOOK_NOT_CONFIGURED'));
    // MCP's list of errors is closed and does not have this one (contract.md, "MCP").
    const retryAfterSeconds = door === 'mcp' ? 0 : offlineForSeconds(vaultId);
    if (retryAfterSeconds > 0)
      return refusals.refuse(subject, serviceName, { code: 'WEBHOOK_UNAVAILABLE', retryAfterSeconds });

    const { webhookId } = webhook;
    const recorded = await audit.record(
      { vaultId, agentId, serviceName, eventType: 'AGENT_CREDENTIAL_ACCESS', outcome: 'success' },
      {
        touchCaller: isStale(subject, clock.now()),
        onlyIf: {
          caller: 'agent',
          credential,
          withMcpOn: door === 'mcp',
          grantId,
          webhookId,
          policyRevision,
          uses,
        },
      },
    );
    if (!recorded) return undefined;
    return { outcome: 'ticket', ...issueCredentialUrl(subject, webhook, serviceName) };
  };
}
