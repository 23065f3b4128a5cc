import type { Clock, Id } from '@svault/shared';
import type { OutageChange } from '../core/shared-outages.ts';

/**
 * How soon a webhook that is offline is asked again: it is probed once a second, or at once where somebody asks for it in a
 * long outage, and what came of that has reached every process a moment later.
 */
export const RETRY_AFTER_SECONDS = 2;

/**
 * Which vaults' webhooks are offline, as far as this process knows (protocol.md section 2). An outage begins with evidence and
 * ends with the first answer to anybody, in any of the processes (`outage-prober.ts`).
 *
 * By vault and not by the webhook's id, which the webhook chooses: one account's webhook could take the id of another's
 * and make that one count as offline.
 */
export interface OnlineStatus {
  /** To be told before a call of the vault's webhook. */
  begin(vaultId: Id<'vlt'>): CallOutcome;
  /** Whole seconds after which asking again makes sense; 0 when the vault's webhook is not known to be offline. */
  offlineForSeconds(vaultId: Id<'vlt'>): number;
}

/** What became of a call; each may be told more than once. */
export interface CallOutcome {
  answered(): void;
  /**
   * Nobody answered. That is old where another call was answered since this one began: one that hung on a connection which
   * the network had lost says nothing of now.
   *
   * @param how `late`: it had not answered in time. A slow answer alone is no outage, so that this is only suspicion, until
   *   a further call or a probe is not answered either
   */
  failed(how: 'broken' | 'late'): void;
}

/** What the prober exchanges with the other processes, and looks after. */
export interface OutageNotes extends OnlineStatus {
  /** What began or ended here since the former call. */
  takeChanges(): readonly OutageChange[];
  /** They could not be published: the next call of `takeChanges` gives them again. */
  returnChanges(changes: readonly OutageChange[]): void;
  /** What another process found out; what was found out here since, and not taken yet, is newer. */
  learn(change: OutageChange): void;
  /** Forgets every outage that is not among these. */
  learnAll(offline: ReadonlySet<Id<'vlt'>>): void;
  /** Whether there is any outage. */
  anyOffline(): boolean;
  /** Those with an outage that somebody asked for since the former call. */
  takeWanted(): readonly Id<'vlt'>[];
  /** Those that were late once and have not answered since; each once. */
  takeSuspects(limit: number): readonly Id<'vlt'>[];
}

export function createOnlineStatus(clock: Clock): OutageNotes {
  const offline = new Set<Id<'vlt'>>();
  const wanted = new Set<Id<'vlt'>>();
  const changed = new Set<Id<'vlt'>>();
  /** Late once: when, by monotonic time, and whether a probe has been made of it. */
  const suspects = new Map<Id<'vlt'>, { readonly sinceMs: number; isProbed: boolean }>();
  /** Monotonic time in ms of the last answer: one number for each account whose webhook this process has called. */
  const answeredAt = new Map<Id<'vlt'>, number>();

  const begins = (vaultId: Id<'vlt'>): void => {
    suspects.delete(vaultId);
    if (offline.has(vaultId)) return;
    offline.add(vaultId);
    changed.add(vaultId);
  };
  const ends = (vaultId: Id<'vlt'>): void => {
    suspects.delete(vaultId);
    wanted.delete(vaultId);
    if (offline.delete(vaultId)) changed.add(vaultId);
  };
  const taken = <T>(from: Set<T>): readonly T[] => {
    const all = [...from];
    from.clear();
    return all;
  };

  return {
    begin: (vaultId) => {
      const begunAt = clock.monotonic();
      return {
        answered: () => {
          answeredAt.set(vaultId, clock.monotonic());
          ends(vaultId);
        },
        failed: (how) => {
          if (begunAt < (answeredAt.get(vaultId) ?? begunAt)) return;
          // Calls that waited at the same time are one sign and not several.
          const isSecond = begunAt >= (suspects.get(vaultId)?.sinceMs ?? Infinity);
          if (how === 'broken' || isSecond) begins(vaultId);
          else if (!offline.has(vaultId) && !suspects.has(vaultId))
            suspects.set(vaultId, { sinceMs: clock.monotonic(), isProbed: false });
        },
      };
    },
    offlineForSeconds: (vaultId) => {
      if (!offline.has(vaultId)) return 0;
      wanted.add(vaultId);
      return RETRY_AFTER_SECONDS;
    },
    takeChanges: () => taken(changed).map((vaultId) => ({ vaultId, isOffline: offline.has(vaultId) })),
    returnChanges: (changes) => {
      for (const { vaultId } of changes) changed.add(vaultId);
    },
    learn: ({ vaultId, isOffline }) => {
      if (changed.has(vaultId)) return;
      if (isOffline) offline.add(vaultId);
      else offline.delete(vaultId);
    },
    learnAll: (known) => {
      for (const vaultId of offline)
        if (!known.has(vaultId) && !changed.has(vaultId)) offline.delete(vaultId);
    },
    anyOffline: () => offline.size > 0,
    takeWanted: () => taken(wanted),
    takeSuspects: (limit) => {
      const fresh = [...suspects].filter(([, { isProbed }]) => !isProbed).slice(0, Math.max(limit, 0));
      for (const [, suspect] of fresh) suspect.isProbed = true;
      return fresh.map(([vaultId]) => vaultId);
    },
  };
}
