import type { Origin } from '../core/origin.ts';
import type { Id } from '@svault/shared';
import type { Outcome } from '@svault/shared/schemas';
import type { NewAuditEvent } from '../core/audit-event.ts';
import { WebhookCallFailed } from '../webhook/call-failed.ts';

/** The result of a refresh (PROTOCOL.md section 7). */
export type RefreshResult =
  /** `expiryTime` of the new token, where it has one. */
  | { readonly outcome: 'refreshed'; readonly expiryTime?: string }
  /** The webhook refreshes it later. */
  | { readonly outcome: 'accepted' }
  /** The record has no provider or no refresh token. */
  | { readonly outcome: 'not_refreshable' }
  /** The provider rejects the refresh token: the owner has to authorise again. */
  | { readonly outcome: 'reauth_needed'; readonly providerReason?: string | undefined }
  /** The provider failed, or the webhook's call to it. */
  | { readonly outcome: 'failed'; readonly providerReason?: string | undefined }
  /** Only the control plane can authenticate the client, and the account has no setting for its provider. */
  | { readonly outcome: 'provider_not_configured' }
  /** Another refresh of the token is in progress. */
  | { readonly outcome: 'busy'; readonly retryAfterSeconds: number }
  /** By `token_refresh`, or by the webhook's own limit. */
  | { readonly outcome: 'limited'; readonly retryAfterSeconds: number }
  /** The webhook does not answer or does not support it; `cause` where a call failed. */
  | { readonly outcome: 'webhook_unavailable'; readonly cause?: WebhookCallFailed };

/** `reason` of `POST /v1/refresh-notify`. */
export type RefreshReason = 'expiring' | 'expired' | 'manual';

export interface RefreshRequest {
  readonly reason: RefreshReason;
  readonly userId?: Id<'usr'>;
  readonly proxyId?: Id<'prx'>;
  readonly origin?: Origin | undefined;
}

/** Refreshes tokens through the webhook that holds them; the control plane receives no token. */
export interface TokenRefresh {
  /** Counts against `token_refresh`, and writes TOKEN_REFRESHED. Rejects only where the database fails. */
  refresh(vaultId: Id<'vlt'>, serviceName: string, request: RefreshRequest): Promise<RefreshResult>;
}

/** Where the webhook gives no `Retry-After`. */
const RETRY_AFTER_SECONDS = 5;

/** The result of a refresh whose call to the webhook failed (PROTOCOL.md section 9). @throws every other error */
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
    // The record was stored anew between two calls, or the lease expired.
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

/** The event TOKEN_REFRESHED. */
export function refreshEvent(
  vaultId: Id<'vlt'>,
  serviceName: string,
  { reason, userId, proxyId, origin }: RefreshRequest,
  result: RefreshResult,
): NewAuditEvent {
  const { outcome } = result;
  const providerReason = 'providerReason' in result ? result.providerReason : undefined;
  const detail = { outcome, reason, ...(providerReason !== undefined && { providerReason }) };
  const about = { serviceName, userId, proxyId, origin, detail };
  return { vaultId, eventType: 'TOKEN_REFRESHED', outcome: EVENT_OUTCOMES[outcome], ...about };
}
