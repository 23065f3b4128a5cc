import type { Id } from '@svault/shared';

/** A key as it is stored: base64url of its 32 secret bytes under the root key. */
export interface WrappedHmacKey {
  readonly id: string;
  readonly wrapped: string;
}

/** The webhook that holds a vault's credentials. */
export interface WebhookLink {
  readonly vaultId: Id<'vlt'>;
  /** The id that the webhook chose at the exchange; `aud` of every ticket. */
  readonly webhookId: string;
  /** Without trailing slash. */
  readonly url: string;
  /** Signs requests and tickets. */
  readonly key: WrappedHmacKey;
  /** Of an incomplete rotation; signs only the health call that completes it. */
  readonly pendingKey: WrappedHmacKey | undefined;
  readonly capabilities: readonly string[];
  readonly boundAt: string;
  readonly boundBy: Id<'usr'>;
  /** Of the last answered signed call. */
  readonly lastSeenAt: string | undefined;
  readonly latencyMs: number | undefined;
  /** Background work skips it until then, or did so earlier. */
  readonly setAside?: SetAside | undefined;
}

/**
 * Why background work skips a webhook.
 *
 * - `slow`: its calls took too long
 * - `unusable_answers`: its responses violate the protocol or its size limits
 * - `too_many_answers`: its responses cost more than one account may cost
 */
export const SET_ASIDE_REASONS = ['slow', 'unusable_answers', 'too_many_answers'] as const;
export type SetAsideReason = (typeof SET_ASIDE_REASONS)[number];

export interface SetAside {
  readonly reason: SetAsideReason;
  readonly until: string;
  /** Times in a row. */
  readonly strikes: number;
}

/** Associated data of a wrapped key: a key that is copied into another vault's row does not unwrap there. */
export const webhookKeyPurpose = (vaultId: string, keyId: string): string =>
  `webhook-key:${vaultId}:${keyId}`;

export interface WebhookLinkStore {
  find(vaultId: Id<'vlt'>): Promise<WebhookLink | undefined>;

  /** At most one link per vault. @returns false, and changes nothing, where there is one */
  insert(link: WebhookLink): Promise<boolean>;

  /** Keeps the webhook's log head. @returns whether there was one */
  delete(vaultId: Id<'vlt'>): Promise<boolean>;

  /**
   * Replaces the pending key.
   *
   * @param link as it was when the key was requested
   * @returns false, and changes nothing, where its webhook or one of its keys has changed since
   */
  setPendingKey(link: WebhookLink, key: WrappedHmacKey): Promise<boolean>;

  /** Makes the pending key the active one. @returns false where that key is no longer pending */
  activatePendingKey(vaultId: Id<'vlt'>, keyId: string): Promise<boolean>;

  /** By vault. */
  withPendingKey(page: {
    readonly after: Id<'vlt'> | undefined;
    readonly limit: number;
  }): Promise<readonly WebhookLink[]>;

  /** Links of unlocked vaults whose webhook has answered under its key; by vault. */
  ofOpenVaults(page: {
    readonly after: Id<'vlt'> | undefined;
    readonly limit: number;
  }): Promise<readonly WebhookLink[]>;

  /** Does nothing where the vault is bound to another webhook now. */
  noteSeen(
    link: Pick<WebhookLink, 'vaultId' | 'webhookId'>,
    seen: { readonly at: string; readonly latencyMs: number; readonly capabilities?: readonly string[] },
  ): Promise<void>;

  /** @param aside undefined: ends it */
  setAside(link: Pick<WebhookLink, 'vaultId' | 'webhookId'>, aside: SetAside | undefined): Promise<void>;

  /** The last known head of the webhook's log. It outlives the link, for when the webhook is bound again. */
  logHead(vaultId: Id<'vlt'>, webhookId: string): Promise<LogHead | undefined>;
  rememberLogHead(vaultId: Id<'vlt'>, webhookId: string, head: LogHead, at: string): Promise<void>;
}

/** The head of a webhook's own log, as the webhook reports it (PROTOCOL.md 5.3). */
export interface LogHead {
  /** Random, new after each restore from a backup. */
  readonly epoch: string;
  readonly seq: number;
  readonly hash: string;
}

type LogContradiction = 'EPOCH_CHANGED' | 'LOG_SHORTENED' | 'HASH_CHANGED';

/**
 * Compares a reported head with the last known one: within an epoch `seq` never decreases, and an equal `seq` has an equal
 * `hash`. A restore starts a new epoch, and a rewritten log would claim to be one.
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
