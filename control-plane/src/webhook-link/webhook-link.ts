import type { Id } from '@svault/shared';

/** A key as it is kept: the 32 secret bytes wrapped under the master key, base64url. */
export interface WrappedHmacKey {
  readonly id: string;
  readonly wrapped: string;
}

/** The webhook that holds a vault's credentials. */
export interface WebhookLink {
  readonly vaultId: Id<'vlt'>;
  /** The id that the webhook gave itself at the exchange; `aud` of every ticket. */
  readonly webhookId: string;
  /** Its address without trailing slash. */
  readonly url: string;
  /** Signs requests and tickets. */
  readonly key: WrappedHmacKey;
  /** From a rotation that is not complete; signs nothing but the health call that completes it. */
  readonly pendingKey: WrappedHmacKey | undefined;
  readonly capabilities: readonly string[];
  readonly boundAt: string;
  readonly boundBy: Id<'usr'>;
  /** The last time it answered a signed call, and how long that took. */
  readonly lastSeenAt: string | undefined;
  readonly latencyMs: number | undefined;
}

/** What a wrapped key is bound to, so that one copied into another vault's row does not open there. */
export const webhookKeyPurpose = (vaultId: string, keyId: string): string =>
  `webhook-key:${vaultId}:${keyId}`;
