import type { Id } from '@svault/shared';
import type { WebhookLink } from '../webhook-link/webhook-link.ts';

/** A `Token` proxy as the webhook has to know it (protocol.md 5.3, `proxies.put`). */
export interface DeliverableProxy {
  readonly proxyId: Id<'prx'>;
  readonly serviceName: string;
  readonly upstreamUrl: string;
  readonly headerTemplates: Readonly<Record<string, string>>;
  readonly revision: number;
  /** `deliveryMark` of what the webhook was last given; null where that was nothing. */
  readonly deliveredAs: string | null;
}

/** What `deliveredAs` says once this revision is at this webhook. */
export const deliveryMark = (webhookId: string, revision: number): string => `${webhookId} ${revision}`;

/** Keeps the webhook's copy of proxies in step. */
export interface ProxyConfigDelivery {
  /**
   * Gives the webhook a proxy's settings, where it does not have this revision yet.
   * @throws WebhookCallFailed
   */
  ensure(link: WebhookLink, proxy: DeliverableProxy): Promise<void>;
  /** The webhook does not know it after all (a backup was restored): the next `ensure` gives it again. */
  forgetDelivery(vaultId: Id<'vlt'>, proxyId: Id<'prx'>): Promise<void>;
}
