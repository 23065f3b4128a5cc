import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@svault/server-kit/logger';
import type { Stores } from '../core/stores.ts';
import type { OnlineStatus } from '../webhook/outages.ts';
import type { ProxyConfigDelivery } from '../forwarding/proxy-config-sync.ts';
import { type Proxy, templatesOf } from '../core/proxy.ts';

/**
 * Gives the webhook the settings of a proxy that was made or changed a moment ago, where it can be reached within two
 * seconds. Otherwise the next request with the proxy brings them.
 *
 * @returns the proxy as it is afterwards
 */
export type OfferConfig = (proxy: Proxy) => Promise<Proxy>;

const WAIT_MS = 2_000;

export function createOfferConfig(options: {
  readonly stores: Pick<Stores, 'proxies' | 'webhookLinks'>;
  readonly delivery: Pick<ProxyConfigDelivery, 'ensure'>;
  readonly status: Pick<OnlineStatus, 'offlineForSeconds'>;
  readonly logger: Logger;
}): OfferConfig {
  const { stores, delivery, status, logger } = options;

  const offer = async (proxy: Proxy): Promise<void> => {
    const { id: proxyId, vaultId, serviceName, upstreamUrl, revision, deliveredAs = null } = proxy;
    if (serviceName === undefined || status.offlineForSeconds(vaultId) > 0) return;
    const link = await stores.webhookLinks.find(vaultId);
    if (link === undefined) return;
    const headerTemplates = templatesOf(proxy);
    const settings = { proxyId, serviceName, upstreamUrl, headerTemplates, revision, deliveredAs };
    await delivery.ensure(link, settings);
  };

  return async (proxy) => {
    // It goes on when nobody waits for it any more: being slow here must not count as being offline.
    const offered = offer(proxy).catch((error: unknown) => {
      logger.info({ err: error, proxyId: proxy.id }, 'the webhook has not taken a proxy’s settings yet');
    });
    await within(WAIT_MS, offered);
    return (await stores.proxies.get(proxy.vaultId, proxy.id)) ?? proxy;
  };
}

/** Waits for a piece of work that rejects never, and not longer than so many milliseconds. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  const waiting = new AbortController();
  const late = delay(ms, undefined, { signal: waiting.signal, ref: false }).catch(() => undefined);
  await Promise.race([work, late]);
  waiting.abort();
}
