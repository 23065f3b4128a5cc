import type { Clock, Id } from '@svault/shared';

/** That the webhook of a vault went away or came back. */
export interface OutageChange {
  readonly vaultId: Id<'vlt'>;
  readonly isOffline: boolean;
}

/** Outages of webhooks as all processes on one database know them, and who probes which of them. */
export interface SharedOutages {
  publish(changes: readonly OutageChange[]): Promise<void>;

  /**
   * What others published since the former call, some of it a second time.
   * @returns `offline` where all outages were read, since this process had read nothing for a while
   */
  news(): Promise<
    { readonly changes: readonly OutageChange[] } | { readonly offline: ReadonlySet<Id<'vlt'>> }
  >;

  /**
   * Gives out probes that are due: each to one process, and the next one for the same vault once this one is settled, or after
   * {@link PROBE_LEASE_MS}. Every second in the first minutes of an outage, then rarer, up to every minute.
   *
   * @param wanted somebody asks for these: they are due a second after the last probe, however long the outage is
   */
  takeProbes(limit: number, wanted: readonly Id<'vlt'>[]): Promise<readonly Id<'vlt'>[]>;

  /** A probe brought nothing. */
  probeFailed(vaultId: Id<'vlt'>): Promise<void>;
}

/** Longer than a probe takes: after this one that was given to a process that is gone is given to another. */
export const PROBE_LEASE_MS = 5_000;
export const PROBE_EACH_MS = 1_000;
/** From this age on, outages are probed more rarely: a sixtieth of their age apart. */
export const SHORT_OUTAGE_MS = 5 * 60_000;
export const MAX_PROBE_PAUSE_MS = 60_000;
export const AGE_PER_PAUSE = 60;

/** Of the only process on a database: it has nobody to tell, and nothing outlives it. */
export function createOwnOutages(clock: Clock): SharedOutages {
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
    news: async () => ({ changes: [] }),
    takeProbes: async (limit, wanted) => {
      const nowMs = clock.monotonic();
      const asked = new Set(wanted);
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
