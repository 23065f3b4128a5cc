import type { Id } from '@svault/shared';
import type { Outcome } from '@svault/shared/schemas';
import type { AuditWriter } from '../audit/audit-writer.ts';
import { WebhookCallFailed } from '../webhook/call-failed.ts';

/** What came of asking for a token to be refreshed (protocol.md section 7). */
export type RefreshResult =
  /** `expiryTime` of the new one, where it has one. */
  | { readonly outcome: 'refreshed'; readonly expiryTime?: string }
  /** The webhook sees to it in its own time. */
  | { readonly outcome: 'accepted' }
  /** It has no provider or no refresh token. */
  | { readonly outcome: 'not_refreshable' }
  /** The provider takes its refresh token no more: the owner has to authorise anew. */
  | { readonly outcome: 'reauth_needed' }
  /** The provider, or the webhook's call to it, failed. */
  | { readonly outcome: 'failed' }
  /** No setting of this account fits the provider, whose client only the service can authenticate. */
  | { readonly outcome: 'provider_not_configured' }
  /** Somebody else is at it. */
  | { readonly outcome: 'busy'; readonly retryAfterSeconds: number }
  /** By `token_refresh`, or by the webhook's own limit. */
  | { readonly outcome: 'limited'; readonly retryAfterSeconds: number }
  /** The webhook does not answer, or is none that can do it; `cause` where a call to it failed. */
  | { readonly outcome: 'webhook_unavailable'; readonly cause?: WebhookCallFailed };

/** Why it is asked for: `POST /v1/refresh-notify`, `reason`. */
export type RefreshReason = 'expiring' | 'expired' | 'manual';

/** Why, and for whom. */
export interface RefreshWish {
  readonly reason: RefreshReason;
  readonly userId?: Id<'usr'>;
  readonly proxyId?: Id<'prx'>;
}

/** Refreshes tokens by way of the webhook that holds them; no token ever comes here. */
export interface TokenRefresh {
  /** Counts against `token_refresh`, and writes TOKEN_REFRESHED. Never rejects but where the database fails. */
  refresh(vaultId: Id<'vlt'>, serviceName: string, why: RefreshWish): Promise<RefreshResult>;
}

/** Where a webhook asks us to come again and says no time. */
const RETRY_AFTER_SECONDS = 5;

/** What a call that brought nothing means for a refresh (protocol.md section 9). @throws what is no failed call */
export function outcomeOfFailure(error: unknown): RefreshResult {
  if (!(error instanceof WebhookCallFailed)) throw error;
  const { retryAfterSeconds = RETRY_AFTER_SECONDS } = error;
  switch (error.code) {
    case 'NOT_FOUND':
    case 'NOT_REFRESHABLE':
    case 'EMPTY_TOKEN':
      return { outcome: 'not_refreshable' };
    case 'REAUTH_NEEDED':
      return { outcome: 'reauth_needed' };
    case 'RATE_LIMITED':
      return { outcome: 'limited', retryAfterSeconds };
    case 'REFRESH_BUSY':
      return { outcome: 'busy', retryAfterSeconds };
    // Between two calls the record was stored anew, or somebody took so long that the lease ended.
    case 'REFRESH_NEEDED':
    case 'VERSION_CONFLICT':
    case 'LEASE_EXPIRED':
    case 'PROVIDER_ERROR':
    case 'PROVIDER_TIMEOUT':
      return { outcome: 'failed' };
    default:
      return { outcome: 'webhook_unavailable', cause: error };
  }
}

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
