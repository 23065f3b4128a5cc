import type { Logger } from '@svault/server-kit/logger';
import type { KeyRotation } from './rotate-key.ts';
import type { WebhookLinkStore } from './webhook-link-store.ts';

/** Links per run; more are due only after an outage of many webhooks at once. */
const AT_ONCE = 20;

/**
 * Takes keys into use whose rotation was interrupted. It must not wait for somebody to ask: where only the answer was
 * lost, the webhook has already changed over, and takes the former key for ten minutes more.
 */
export async function completeRotations(options: {
  readonly links: Pick<WebhookLinkStore, 'withPendingKey'>;
  readonly rotation: Pick<KeyRotation, 'complete'>;
  readonly logger: Logger;
}): Promise<void> {
  const { links, rotation, logger } = options;
  for (const link of await links.withPendingKey(AT_ONCE)) {
    await rotation.complete(link).catch((error: unknown) => {
      logger.warn({ err: error, vaultId: link.vaultId }, 'a new webhook key is not in use yet');
    });
  }
}
