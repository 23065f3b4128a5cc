import { type Clock, formatTime, parseTime } from '@svault/shared';
import type { SetAsideReason, WebhookLink, WebhookLinkStore } from '../core/webhook-link.ts';

/**
 * Sets aside webhooks that cost too much: background work skips them, twice as long each time, while requests of agents and
 * owners go on. Stored with the link, so that it holds in all processes and after a restart.
 */
export interface SetAsides {
  isSetAside(link: WebhookLink): boolean;
  /** Extends the pause after a further incident. */
  add(link: WebhookLink, reason: SetAsideReason): Promise<void>;
  /** Ends the pause after a round without an incident. */
  clear(link: WebhookLink): Promise<void>;
}

const FIRST_MS = 60_000;
const MAX_MS = 60 * 60_000;
const MAX_STRIKES = 30;

export function createSetAsides(options: {
  readonly links: Pick<WebhookLinkStore, 'setAside'>;
  readonly clock: Clock;
}): SetAsides {
  const { links, clock } = options;
  return {
    isSetAside: ({ setAside }) => {
      const leftMs = (parseTime(setAside?.until ?? '') ?? 0) - clock.now();
      // A later time was written before the clock was set back.
      return leftMs > 0 && leftMs <= MAX_MS;
    },
    add: async (link, reason) => {
      const strikes = Math.min((link.setAside?.strikes ?? 0) + 1, MAX_STRIKES);
      const pauseMs = Math.min(FIRST_MS * 2 ** (strikes - 1), MAX_MS);
      await links.setAside(link, { reason, strikes, until: formatTime(clock.now() + pauseMs) });
    },
    clear: async (link) => {
      if (link.setAside !== undefined) await links.setAside(link, undefined);
    },
  };
}
