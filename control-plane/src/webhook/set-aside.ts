import { type Clock, formatTime, parseTime } from '@svault/shared';
import type { SetAsideReason, WebhookLink, WebhookLinkStore } from '../core/webhook-link.ts';

/**
 * Puts webhooks aside that take too much of what all accounts share: background work leaves them alone, twice as long each time.
 * What agents and owners do with them goes on. Kept with the link, so that all processes know it and a restart forgets nothing.
 */
export interface SettingAside {
  isAside(link: WebhookLink): boolean;
  /** It gave trouble once more. */
  add(link: WebhookLink, reason: SetAsideReason): Promise<void>;
  /** It gave none. */
  clear(link: WebhookLink): Promise<void>;
}

const FIRST_MS = 60_000;
const MAX_MS = 60 * 60_000;
const MAX_STRIKES = 30;

export function createSettingAside(options: {
  readonly links: Pick<WebhookLinkStore, 'setAside'>;
  readonly clock: Clock;
}): SettingAside {
  const { links, clock } = options;
  return {
    isAside: ({ setAside }) => {
      const leftMs = (parseTime(setAside?.until ?? '') ?? 0) - clock.now();
      // A time of before the clock was set back holds nobody off.
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
