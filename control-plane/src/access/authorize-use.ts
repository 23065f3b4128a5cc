import type { Clock, Id } from '@svault/shared';
import { isStale, webhookOf } from './caller-subject.ts';
import { type Denial, type Denied, plainDenial } from './denial.ts';
import type { PolicyEvaluation } from './evaluate-policies.ts';
import type { Refusals } from './refusals.ts';
import type { AuditWriter } from '../audit/audit-writer.ts';
import type { OpenStreams } from './open-streams.ts';
import type { ProxyDecision, ProxyUse } from './proxy-access.ts';
import type { ProxySubject } from './proxy-access-store.ts';
import { proxyEvent } from './proxy-event.ts';

export interface UseDependencies {
  readonly audit: AuditWriter;
  /** Seconds until a vault's webhook that is known to be offline is asked again; 0 when it is not known to be. */
  readonly offlineForSeconds: (vaultId: Id<'vlt'>) => number;
  readonly streams: OpenStreams;
  readonly clock: Clock;
}

/** All streams are in use: one may end at any time. */
const STREAM_RETRY_SECONDS = 1;

export const NO_STREAM = {
  code: 'RATE_LIMITED',
  scope: 'open_streams',
  retryAfterSeconds: STREAM_RETRY_SECONDS,
} as const satisfies Denial;

/**
 * All that is left once limits and policies allow: somebody to forward to, a place among the proxy's streams, and the line
 * in the log.
 *
 * @returns undefined, with nothing written and no place taken, where what the decision rested on does not hold any more
 */
export type ProvideUse = (
  subject: ProxySubject,
  keyHash: string,
  evaluation: Extract<PolicyEvaluation, { readonly kind: 'allowed' }>,
) => Promise<ProxyDecision | undefined>;

export function createAuthorizeUse(
  { audit, offlineForSeconds, streams, clock }: UseDependencies,
  refusals: Refusals<ProxySubject>,
): ProvideUse {
  const refuse = (subject: ProxySubject, denial: Denial): Promise<Denied> =>
    refusals.refuse(subject, undefined, denial);

  return async (subject, keyHash, { uses }) => {
    const { vaultId, revision, agentId, policyRevision } = subject;
    const use = useOf(subject);
    if (use === undefined) return refuse(subject, plainDenial('WEBHOOK_NOT_CONFIGURED'));
    const retryAfterSeconds = use.kind === 'webhook' ? offlineForSeconds(vaultId) : 0;
    if (retryAfterSeconds > 0) return refuse(subject, { code: 'WEBHOOK_UNAVAILABLE', retryAfterSeconds });
    const stream = streams.open(subject);
    if (stream === undefined) return refusals.counted(subject, NO_STREAM);
    let isRecorded = false;
    try {
      const webhookId = use.kind === 'webhook' ? use.webhook.webhookId : null;
      isRecorded = await audit.record(proxyEvent(subject), {
        touchCaller: isStale(subject, clock.now()),
        onlyIf: { caller: 'proxy', keyHash, revision, agentId, webhookId, policyRevision, uses },
      });
    } finally {
      if (!isRecorded) stream.close();
    }
    return isRecorded ? { outcome: 'use', use, stream } : undefined;
  };
}

/** @returns undefined where a webhook is needed and none is bound */
function useOf(subject: ProxySubject): ProxyUse | undefined {
  const { vaultId, proxyId, upstreamUrl, serviceName, agentId } = subject;
  const headerTemplates = JSON.parse(subject.headerTemplates ?? '{}') as Record<string, string>;
  if (subject.upstreamAuthType === 'sv_session') {
    if (agentId === null) throw new Error('a proxy that sends sessions acts for an agent');
    const proxy = { vaultId, proxyId, agentId, upstreamUrl };
    return { kind: 'session', vaultId, proxyId, proxy, headerTemplates };
  }
  const webhook = webhookOf(subject);
  if (serviceName === null) throw new Error('a proxy that injects a token names it');
  if (webhook === undefined) return undefined;
  const { revision, deliveredAs, credentialRejected } = subject;
  const config = { proxyId, serviceName, upstreamUrl, headerTemplates, revision, deliveredAs };
  return { kind: 'webhook', vaultId, proxyId, webhook, config, credentialRejected };
}
