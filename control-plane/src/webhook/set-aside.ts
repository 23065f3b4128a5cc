import { type Clock, formatTime, parseTime } from '@svault/shared';
import type { SetAsideReason, WebhookLink, WebhookLinkStore } from '../core/webhook-link.ts';

const FIRST_MS = 60_000;
const MAX_MS = 60 * 60_000;
const MAX_STRIKES = 30;

/**
 * Sets aside webhooks that cost too much: background work skips them, twice as long each time, while requests of agents and
 * owners go on. Stored with the link, so that it holds in all processes and after a restart.
 */
export type SetAsides = ReturnType<typeof createSetAsides>;

export function createSetAsides(links: Pick<WebhookLinkStore, 'setAside'>, clock: Clock) {
  return {
    isSetAside: ({ setAside }: WebhookLink): boolean => {
      const leftMs = (parseTime(setAside?.until ?? '') ?? 0) - clock.now();
      // A later time was written before the clock was set back.
      return leftMs > 0 && leftMs <= MAX_MS;
    },
    /** Extends the pause after a further incident. */
    add: (link: WebhookLink, reason: SetAsideReason): Promise<void> => {
      const strikes = Math.min((link.setAside?.strikes ?? 0) + 1, MAX_STRIKES);
      const pauseMs = Math.min(FIRST_MS * 2 ** (strikes - 1), MAX_MS);
      return links.setAside(link, { reason, strikes, until: formatTime(clock.now() + pauseMs) });
    },
    /** Ends the pause after a round without an incident. */
    clear: async (link: WebhookLink): Promise<void> => {
      if (link.setAside !== undefined) await links.setAside(link, undefined);
    },
  };
}
