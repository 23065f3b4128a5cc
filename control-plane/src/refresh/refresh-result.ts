import type { Id } from '@svault/shared';
import type { WebhookCallFailed } from '../webhook/webhook-call-failed.ts';

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
