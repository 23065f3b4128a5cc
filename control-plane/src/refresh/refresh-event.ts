import type { Id } from '@svault/shared';
import type { Outcome } from '@svault/shared/schemas';
import type { AuditWriter } from '../audit/audit-writer.ts';
import type { RefreshResult, RefreshWish } from './refresh-result.ts';

const EVENT_OUTCOMES: Readonly<Record<RefreshResult['outcome'], Outcome>> = {
  refreshed: 'success',
  accepted: 'success',
  not_refreshable: 'denied',
  provider_not_configured: 'denied',
  busy: 'denied',
  limited: 'rate_limited',
  reauth_needed: 'error',
  failed: 'error',
  webhook_unavailable: 'error',
};

/** TOKEN_REFRESHED, with who asked where somebody did (contract.md, "Events"). Pure. */
export function refreshEvent(
  vaultId: Id<'vlt'>,
  serviceName: string,
  { reason, userId, proxyId }: RefreshWish,
  { outcome }: RefreshResult,
): Parameters<AuditWriter['record']>[0] {
  return {
    vaultId,
    eventType: 'TOKEN_REFRESHED',
    outcome: EVENT_OUTCOMES[outcome],
    serviceName,
    userId,
    proxyId,
    detail: { outcome, reason },
  };
}
