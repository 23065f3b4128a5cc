import type { Clock, Id } from '@svault/shared';

/** protocol.md section 2 and contract.md "Webhook offline": how long a failed call counts. */
const OFFLINE_MS = 15_000;

/**
 * What the last calls said about which vaults' webhooks answer. Held by the process: it is knowledge of seconds.
 *
 * By vault and not by the webhook's id, which the webhook chooses: one account's webhook could take the id of another's
 * and make that one count as offline.
 */
export interface OnlineStatus {
  /** To be told before a call of the vault's webhook. */
  begin(vaultId: Id<'vlt'>): CallOutcome;
  /** Whole seconds for which the vault's webhook still counts as offline; 0 when it is not known to be. */
  offlineForSeconds(vaultId: Id<'vlt'>): number;
}

/** What became of a call; each may be told more than once. */
export interface CallOutcome {
  answered(): void;
  /**
   * Nobody answered. That is old where another call was answered since this one began: one that hung on a connection which
   * the network had lost says nothing of now.
   */
  failed(): void;
}

export function createOnlineStatus(clock: Clock): OnlineStatus {
  /** Monotonic time in ms until which a vault's webhook counts as offline. */
  const offlineUntil = new Map<Id<'vlt'>, number>();
  /** Monotonic time in ms of the last answer: one number for each account whose webhook this process has called. */
  const answeredAt = new Map<Id<'vlt'>, number>();
  return {
    begin: (vaultId) => {
      const begunAt = clock.monotonic();
      return {
        answered: () => {
          answeredAt.set(vaultId, clock.monotonic());
          offlineUntil.delete(vaultId);
        },
        failed: () => {
          if (begunAt < (answeredAt.get(vaultId) ?? begunAt)) return;
          offlineUntil.set(vaultId, clock.monotonic() + OFFLINE_MS);
        },
      };
    },
    offlineForSeconds: (vaultId) => {
      const until = offlineUntil.get(vaultId);
      if (until === undefined) return 0;
      const leftMs = until - clock.monotonic();
      if (leftMs > 0) return Math.ceil(leftMs / 1000);
      offlineUntil.delete(vaultId);
      return 0;
    },
  };
}
