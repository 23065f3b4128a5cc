import type { Id } from '@svault/shared';
import type { LogHead } from './log-head.ts';
import type { SetAside, WebhookLink, WrappedHmacKey } from './webhook-link.ts';

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
