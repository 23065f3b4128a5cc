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

export interface WebhookLinkStore {
  find(vaultId: Id<'vlt'>): Promise<WebhookLink | undefined>;

  /** @returns false, and changes nothing, where the vault has one already: at most one link per vault */
  insert(link: WebhookLink): Promise<boolean>;

  /** @returns whether there was one. What was seen of the webhook's log stays. */
  delete(vaultId: Id<'vlt'>): Promise<boolean>;

  /**
   * Keeps a key that the webhook has made but not yet taken into use, in place of the link's pending one.
   *
   * @param link as it was when the key was asked for
   * @returns false, and keeps nothing, where its webhook or one of its keys is another by now
   */
  setPendingKey(link: WebhookLink, key: WrappedHmacKey): Promise<boolean>;

  /** Makes the pending key the one in use and forgets the former; false where that key is not pending any more. */
  activatePendingKey(vaultId: Id<'vlt'>, keyId: string): Promise<boolean>;

  /** By vault. */
  withPendingKey(page: {
    readonly after: Id<'vlt'> | undefined;
    readonly limit: number;
  }): Promise<readonly WebhookLink[]>;

  /** Those of vaults that are not locked, whose webhook has answered under its key; by vault. */
  ofOpenVaults(page: {
    readonly after: Id<'vlt'> | undefined;
    readonly limit: number;
  }): Promise<readonly WebhookLink[]>;

  /** @param link nothing is noted where the vault is bound to another webhook by now */
  noteSeen(
    link: Pick<WebhookLink, 'vaultId' | 'webhookId'>,
    seen: { readonly at: string; readonly latencyMs: number; readonly capabilities?: readonly string[] },
  ): Promise<void>;

  /** @param aside undefined: not any more */
  setAside(link: Pick<WebhookLink, 'vaultId' | 'webhookId'>, aside: SetAside | undefined): Promise<void>;

  /** The last head seen of this webhook's log. It outlives the link: a webhook bound again is compared with it. */
  logHead(vaultId: Id<'vlt'>, webhookId: string): Promise<LogHead | undefined>;
  rememberLogHead(vaultId: Id<'vlt'>, webhookId: string, head: LogHead, at: string): Promise<void>;
}

/** Where a webhook says its own log stands (protocol.md 5.3). */
export interface LogHead {
  /** Random, new after each restore from a backup. */
  readonly epoch: string;
  readonly seq: number;
  readonly hash: string;
}

export type LogContradiction = 'EPOCH_CHANGED' | 'LOG_SHORTENED' | 'HASH_CHANGED';

/**
 * Compares the head a webhook shows with the last one seen: within an epoch `seq` only grows and an equal `seq`
 * means an equal `hash`. A new epoch is what a restore looks like, and what a rewritten log would claim to be.
 */
export function contradictionBetween(
  known: LogHead | undefined,
  seen: LogHead,
): LogContradiction | undefined {
  if (known === undefined) return undefined;
  if (seen.epoch !== known.epoch) return 'EPOCH_CHANGED';
  if (seen.seq < known.seq) return 'LOG_SHORTENED';
  if (seen.seq === known.seq && seen.hash !== known.hash) return 'HASH_CHANGED';
  return undefined;
}
