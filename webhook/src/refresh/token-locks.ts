import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '@svault/shared';
import { ApiError } from '../errors.ts';

/** The right to call the provider for one token. */
export interface TokenLock {
  /** Whether it expired or was released. */
  hasEnded(): boolean;
  /** Removes its time limit: it lasts until it is released. */
  keep(): void;
  release(): void;
}

interface Holder extends TokenLock {
  endsAtMs: number;
  readonly released: Promise<void>;
}

/** How often a waiting caller compares an expiry with the clock. */
const POLL_MS = 250;
/** An estimate of what is left of a provider call that is under way. */
const CALL_SECONDS = 5;

/**
 * Mutual exclusion of calls to the provider by token: the control plane with its lease, or the webhook itself
 * (PROTOCOL.md section 7). In memory: a restart drops leases.
 */
export function createTokenLocks(clock: Pick<Clock, 'monotonic'>) {
  const holders = new Map<string, Holder>();
  const waiting = new Set<string>();
  const closing = new AbortController();

  const start = (serviceName: string, endsAtMs: number): Holder => {
    const { promise: released, resolve } = Promise.withResolvers<void>();
    const isHeld = (): boolean => holders.get(serviceName) === holder;
    const holder: Holder = {
      endsAtMs,
      released,
      hasEnded: () => !isHeld() || clock.monotonic() >= holder.endsAtMs,
      keep: () => void (holder.endsAtMs = Infinity),
      release: () => {
        if (isHeld()) holders.delete(serviceName);
        resolve();
      },
    };
    holders.set(serviceName, holder);
    return holder;
  };
  const holderOf = (serviceName: string): Holder | undefined => {
    const holder = holders.get(serviceName);
    if (holder?.hasEnded() !== true) return holder;
    holder.release();
    return undefined;
  };
  const busySeconds = ({ endsAtMs }: Holder): number =>
    endsAtMs === Infinity ? CALL_SECONDS : Math.max(1, Math.ceil((endsAtMs - clock.monotonic()) / 1000));

  return {
    /**
     * Locks a token for a time on the monotonic clock.
     *
     * @returns the seconds to wait, if it is locked or another caller waits for it
     * @throws ApiError UNAVAILABLE when the program stops
     */
    tryLock: (serviceName: string, forMs: number): TokenLock | { readonly busySeconds: number } => {
      if (closing.signal.aborted) throw stopping();
      const holder = holderOf(serviceName);
      if (holder !== undefined) return { busySeconds: busySeconds(holder) };
      if (waiting.has(serviceName)) return { busySeconds: CALL_SECONDS };
      return start(serviceName, clock.monotonic() + forMs);
    },
    /** Waits for the lock, one caller at a time for each token. @throws ApiError UNAVAILABLE when the program stops */
    lock: async (serviceName: string): Promise<TokenLock> => {
      waiting.add(serviceName);
      try {
        for (let holder = holderOf(serviceName); holder !== undefined; holder = holderOf(serviceName)) {
          const poll = delay(POLL_MS, undefined, { ref: false, signal: closing.signal });
          await Promise.race([holder.released, poll]);
        }
      } catch (error) {
        if (!closing.signal.aborted) throw error;
      } finally {
        waiting.delete(serviceName);
      }
      if (closing.signal.aborted) throw stopping();
      return start(serviceName, Infinity);
    },
    /** Rejects everyone who waits, and every later call. */
    close: () => closing.abort(),
  };
}

export type TokenLocks = ReturnType<typeof createTokenLocks>;

/** The answer to a refresh that begins after the stop. */
export const stopping = (): Error => new ApiError('UNAVAILABLE', 'the webhook stops');
