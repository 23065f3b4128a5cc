import type { Clock, Id } from '@svault/shared';

/** The webhook of a vault went offline or came back. */
export interface OutageChange {
  readonly vaultId: Id<'vlt'>;
  readonly isOffline: boolean;
}

/** Outages of webhooks as the processes on one database share them, and the probes that they divide. */
export interface SharedOutages {
  publish(changes: readonly OutageChange[]): Promise<void>;

  /**
   * What other processes published since the last call; some of it may come a second time.
   *
   * @returns `offline`, every outage, where this process has not polled for a while
   */
  poll(): Promise<
    { readonly changes: readonly OutageChange[] } | { readonly offline: ReadonlySet<Id<'vlt'>> }
  >;

  /**
   * Gives out the probes that are due, each to one process. The next one for a vault follows once this one is reported, or
   * after {@link PROBE_LEASE_MS}: every second in the first minutes of an outage, then less often, down to once a minute.
   *
   * @param requested vaults that clients ask for: due a second after the last probe, however long the outage lasts
   */
  takeProbes(limit: number, requested: readonly Id<'vlt'>[]): Promise<readonly Id<'vlt'>[]>;

  /** A probe got no answer. */
  probeFailed(vaultId: Id<'vlt'>): Promise<void>;
}

/** Longer than a probe takes: the probe of a process that ended goes to another. */
export const PROBE_LEASE_MS = 5_000;
export const PROBE_EACH_MS = 1_000;
/** Older outages are probed less often: after a sixtieth of their age. */
export const SHORT_OUTAGE_MS = 5 * 60_000;
export const MAX_PROBE_PAUSE_MS = 60_000;
export const AGE_PER_PAUSE = 60;

/** For the only process on a database: in memory, and nothing to share. */
export function createSoleProcessOutages(clock: Clock): SharedOutages {
  interface Outage {
    readonly sinceMs: number;
    readonly nextMs: number;
    readonly probedMs: number;
  }
  const outages = new Map<Id<'vlt'>, Outage>();

  return {
    publish: async (changes) => {
      const nowMs = clock.monotonic();
      for (const { vaultId, isOffline } of changes) {
        if (!isOffline) outages.delete(vaultId);
        else if (!outages.has(vaultId))
          outages.set(vaultId, { sinceMs: nowMs, nextMs: nowMs, probedMs: -Infinity });
      }
    },
    poll: async () => ({ changes: [] }),
    takeProbes: async (limit, requested) => {
      const nowMs = clock.monotonic();
      const asked = new Set(requested);
      const due = [...outages]
        .filter(
          ([vaultId, { nextMs, probedMs }]) =>
            nextMs <= nowMs || (asked.has(vaultId) && probedMs + PROBE_EACH_MS <= nowMs),
        )
        .toSorted(([, one], [, other]) => one.nextMs - other.nextMs)
        .slice(0, limit);
      for (const [vaultId, outage] of due)
        outages.set(vaultId, { ...outage, nextMs: nowMs + PROBE_LEASE_MS, probedMs: Infinity });
      return due.map(([vaultId]) => vaultId);
    },
    probeFailed: async (vaultId) => {
      const outage = outages.get(vaultId);
      const nowMs = clock.monotonic();
      if (outage !== undefined)
        outages.set(vaultId, { ...outage, probedMs: nowMs, nextMs: nowMs + pauseMs(nowMs - outage.sinceMs) });
    },
  };
}

const pauseMs = (ageMs: number): number =>
  ageMs < SHORT_OUTAGE_MS ? PROBE_EACH_MS : Math.min(ageMs / AGE_PER_PAUSE, MAX_PROBE_PAUSE_MS);
