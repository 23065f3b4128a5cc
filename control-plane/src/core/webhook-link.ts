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
  /** Background work leaves it alone, or did so a while ago. */
  readonly setAside?: SetAside | undefined;
}

/**
 * Why background work leaves a webhook alone.
 *
 * - `slow`: its calls took too long
 * - `unusable_answers`: what it answers is no answer of the protocol, or larger than one may be
 * - `too_many_answers`: what it answers cost more than one account may cost
 */
export const SET_ASIDE_REASONS = ['slow', 'unusable_answers', 'too_many_answers'] as const;
export type SetAsideReason = (typeof SET_ASIDE_REASONS)[number];

export interface SetAside {
  readonly reason: SetAsideReason;
  readonly until: string;
  /** How often in a row. */
  readonly strikes: number;
}

/** What a wrapped key is bound to, so that one copied into another vault's row does not open there. */
export const webhookKeyPurpose = (vaultId: string, keyId: string): string =>
  `webhook-key:${vaultId}:${keyId}`;
