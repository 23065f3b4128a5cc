import type { Clock, Id } from '@svault/shared';
import type { OutageChange } from '../core/shared-outages.ts';

/**
 * How soon a client asks again for an offline webhook. Every second a probe looks for one that is asked for, and all
 * processes learn its result a moment later.
 */
export const RETRY_AFTER_SECONDS = 2;

/** What callers of webhooks need of the tracker. */
export type OnlineStatus = Pick<OutageTracker, 'callStarted' | 'offlineForSeconds'>;

/** Reports how one call ended; calling it again is harmless. */
export interface CallOutcome {
  answered(): void;
  /**
   * No answer came. Ignored where a later call has been answered: a call that hung on a lost connection says nothing
   * about the present.
   *
   * @param how `late`: a timeout. One slow answer is no outage (PROTOCOL.md TRN-35), so this makes the webhook a suspect
   *   until a further call or a probe gets no answer either
   */
  failed(how: 'broken' | 'late'): void;
}

/**
 * Which webhooks are offline, as far as this process knows (PROTOCOL.md TRN-34). An outage begins with a failed call and
 * ends with the first answer to any process (`outage-prober.ts`).
 *
 * Keyed by vault, since the webhook chooses its own id and could take the id of another account's webhook.
 */
export type OutageTracker = ReturnType<typeof createOutageTracker>;

export function createOutageTracker(clock: Clock) {
  const offline = new Set<Id<'vlt'>>();
  const requested = new Set<Id<'vlt'>>();
  const unpublished = new Set<Id<'vlt'>>();
  const suspects = new Map<Id<'vlt'>, { readonly sinceMs: number; isProbed: boolean }>();
  /** Monotonic ms of the last answer, for each account whose webhook this process has called. */
  const answeredAt = new Map<Id<'vlt'>, number>();

  const begin = (vaultId: Id<'vlt'>): void => {
    suspects.delete(vaultId);
    if (offline.has(vaultId)) return;
    offline.add(vaultId);
    unpublished.add(vaultId);
  };
  const end = (vaultId: Id<'vlt'>): void => {
    suspects.delete(vaultId);
    requested.delete(vaultId);
    if (offline.delete(vaultId)) unpublished.add(vaultId);
  };

  return {
    /** Call before each call of the vault's webhook, and report its outcome. */
    callStarted: (vaultId: Id<'vlt'>): CallOutcome => {
      const startedAt = clock.monotonic();
      return {
        answered: () => {
          answeredAt.set(vaultId, clock.monotonic());
          end(vaultId);
        },
        failed: (how) => {
          if (startedAt < (answeredAt.get(vaultId) ?? startedAt)) return;
          // Several calls that time out together count as one sign.
          const isSecond = startedAt >= (suspects.get(vaultId)?.sinceMs ?? Infinity);
          if (how === 'broken' || isSecond) begin(vaultId);
          else if (!offline.has(vaultId) && !suspects.has(vaultId))
            suspects.set(vaultId, { sinceMs: clock.monotonic(), isProbed: false });
        },
      };
    },
    /** Whole seconds after which a client may ask again; 0 while the vault's webhook is not known to be offline. */
    offlineForSeconds: (vaultId: Id<'vlt'>): number => {
      if (!offline.has(vaultId)) return 0;
      requested.add(vaultId);
      return RETRY_AFTER_SECONDS;
    },
    /** What began or ended in this process since the last call. */
    takeUnpublished: (): readonly OutageChange[] =>
      take(unpublished).map((vaultId) => ({ vaultId, isOffline: offline.has(vaultId) })),
    /** Publishing failed: the next `takeUnpublished` returns these again. */
    requeue: (changes: readonly OutageChange[]): void => {
      for (const { vaultId } of changes) unpublished.add(vaultId);
    },
    /** Applies what another process found. An unpublished change of this process is newer and wins. */
    apply: ({ vaultId, isOffline }: OutageChange): void => {
      if (unpublished.has(vaultId)) return;
      if (isOffline) offline.add(vaultId);
      else offline.delete(vaultId);
    },
    /** Ends every outage that is not among these. */
    retainOnly: (known: ReadonlySet<Id<'vlt'>>): void => {
      for (const vaultId of offline)
        if (!known.has(vaultId) && !unpublished.has(vaultId)) offline.delete(vaultId);
    },
    anyOffline: (): boolean => offline.size > 0,
    offlineCount: (): number => offline.size,
    /** Offline webhooks that `offlineForSeconds` was asked for since the last call. */
    takeRequested: (): readonly Id<'vlt'>[] => take(requested),
    /** Suspects that no probe has been made of; each is returned once. */
    takeSuspects: (limit: number): readonly Id<'vlt'>[] => {
      const fresh = [...suspects].filter(([, { isProbed }]) => !isProbed).slice(0, Math.max(limit, 0));
      for (const [, suspect] of fresh) suspect.isProbed = true;
      return fresh.map(([vaultId]) => vaultId);
    },
  };
}

function take<T>(from: Set<T>): readonly T[] {
  const all = [...from];
  from.clear();
  return all;
}
