import type { Clock, Id } from '@svault/shared';
import type { AuditWriter } from '../audit/audit-writer.ts';
import { type AccessRequest, type Decision, plainDenial } from './decision.ts';
import type { AllowedAccess } from './evaluate-request.ts';
import type { DenialRecorder } from './record-denial.ts';
import { type AgentSubject, type BoundWebhook, isStale, webhookOf } from './subject.ts';

export interface TicketDependencies {
  readonly audit: AuditWriter;
  /** Seconds until the next call of a vault's webhook that is known to be offline; 0 where it is not. */
  readonly offlineForSeconds: (vaultId: Id<'vlt'>) => number;
  /** Signs a ticket for one use and puts it into the webhook's URL. */
  readonly issueCredentialUrl: (
    subject: AgentSubject,
    webhook: BoundWebhook,
    serviceName: string,
  ) => { readonly url: string; readonly expiresAt: number };
  readonly clock: Clock;
}

/**
 * The last steps of an allowed access: a webhook, the audit event, and then the ticket.
 *
 * @returns undefined, with nothing written and no ticket, where the precondition failed
 */
export async function issueTicket(
  { audit, offlineForSeconds, issueCredentialUrl, clock }: TicketDependencies,
  { deny }: DenialRecorder<AgentSubject>,
  subject: AgentSubject,
  channel: AccessRequest['channel'],
  { serviceName, uses }: AllowedAccess,
): Promise<Decision | undefined> {
  const { vaultId, agentId, accountRevision } = subject;
  const webhook = webhookOf(subject);
  if (webhook === undefined) return deny(subject, serviceName, plainDenial('WEBHOOK_NOT_CONFIGURED'));
  // The specification's list of MCP errors is closed and does not have this one.
  const retryAfterSeconds = channel === 'mcp' ? 0 : offlineForSeconds(vaultId);
  if (retryAfterSeconds > 0)
    return deny(subject, serviceName, { code: 'WEBHOOK_UNAVAILABLE', retryAfterSeconds });

  const isRecorded = await audit.record(
    { vaultId, agentId, serviceName, eventType: 'AGENT_CREDENTIAL_ACCESS', outcome: 'success' },
    {
      touchCaller: isStale(subject, clock.now()),
      onlyIf: { accountRevision, expiresAt: earliestExpiry(subject), uses },
    },
  );
  return isRecorded ? { outcome: 'ticket', ...issueCredentialUrl(subject, webhook, serviceName) } : undefined;
}

/** ISO 8601 of the access token or the grant, whichever expires first; null where neither does. */
const earliestExpiry = ({ credentialExpiresAt, grantExpiresAt }: AgentSubject): string | null =>
  [credentialExpiresAt, grantExpiresAt].filter((time) => time !== null).toSorted()[0] ?? null;
