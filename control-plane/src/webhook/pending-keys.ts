import type { Logger } from '@svault/server-kit/logger';
import type { Clock, Id } from '@svault/shared';
import type { KeyRotation } from './rotate-key.ts';
import type { WebhookLinkStore } from '../core/webhook-link-store.ts';
import { createWebhookTurns } from './webhook-turns.ts';

const PAGE = 100;
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 5 * 60_000;

/**
 * Takes keys into use whose rotation was interrupted. It must not wait for somebody to ask: where only the answer was
 * lost, the webhook has already changed over, and takes the former key for ten minutes more.
 */
export function createRotationCompletion(options: {
  readonly links: Pick<WebhookLinkStore, 'withPendingKey'>;
  readonly rotation: Pick<KeyRotation, 'complete'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
}): { run(): Promise<void> } {
  const { links, rotation, clock, logger } = options;
  const turns = createWebhookTurns({ clock, firstPauseMs: FIRST_PAUSE_MS, maxPauseMs: MAX_PAUSE_MS });
  return {
    run: async () => {
      let after: Id<'vlt'> | undefined;
      do {
        const page = await links.withPendingKey({ after, limit: PAGE });
        for (const link of page)
          turns.begin(
            link.vaultId,
            async () => void (await rotation.complete(link)),
            (error, retryInMs) =>
              logger.warn(
                { err: error, vaultId: link.vaultId, retryInMs },
                'a new webhook key is not in use yet',
              ),
          );
        after = page.length === PAGE ? page.at(-1)?.vaultId : undefined;
      } while (after !== undefined);
      await turns.settled();
    },
  };
}
