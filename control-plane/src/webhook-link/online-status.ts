import type { Clock } from '@svault/shared';

/** protocol.md section 2 and contract.md "Webhook offline": how long a failed call counts. */
const OFFLINE_MS = 15_000;

/** What the last calls said about which webhooks answer. Held by the process: it is knowledge of seconds. */
export interface OnlineStatus {
  noteOffline(webhookId: string): void;
  noteOnline(webhookId: string): void;
  /** Whole seconds for which the webhook still counts as offline; 0 when it is not known to be. */
  offlineForSeconds(webhookId: string): number;
}

export function createOnlineStatus(clock: Clock): OnlineStatus {
  /** Monotonic time in ms until which a webhook counts as offline. Only bound webhooks get here. */
  const offlineUntil = new Map<string, number>();
  return {
    noteOffline: (webhookId) => void offlineUntil.set(webhookId, clock.monotonic() + OFFLINE_MS),
    noteOnline: (webhookId) => void offlineUntil.delete(webhookId),
    offlineForSeconds: (webhookId) => {
      const until = offlineUntil.get(webhookId);
      if (until === undefined) return 0;
      const leftMs = until - clock.monotonic();
      if (leftMs > 0) return Math.ceil(leftMs / 1000);
      offlineUntil.delete(webhookId);
      return 0;
    },
  };
}
