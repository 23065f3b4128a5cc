import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '@svault/shared';
import { refusal } from '../errors.ts';

/** The right to call the provider for one token. */
export interface Turn {
  /** Whether it ended, by its time or by {@link Turn.release}. */
  isOver(): boolean;
  /** From now on it lasts until it is released. */
  keep(): void;
  release(): void;
}

/**
 * Who may call the provider for a token: one at a time, the service with its lease or the webhook itself (protocol
 * section 7). In memory: a restart drops leases.
 */
export interface Turns {
  /** Takes the turn for so long, on the monotonic clock; where it is taken, or somebody waits for it: seconds to wait. @throws as take */
  takeFor(serviceName: string, forMs: number): Turn | { readonly busySeconds: number };
  /** Waits for the turn. One at a time may wait for a token. @throws AppError UNAVAILABLE at the stop of the program */
  take(serviceName: string): Promise<Turn>;
  /** Nobody waits any longer. */
  close(): void;
}

interface Holder extends Turn {
  endsAtMs: number;
  readonly released: Promise<void>;
}

/** How often who waits looks at the clock. */
const LOOK_MS = 250;
/** What is left of a provider call that is under way, at a guess. */
const CALL_SECONDS = 5;

export function createTurns(clock: Pick<Clock, 'monotonic'>): Turns {
  const holders = new Map<string, Holder>();
  const waiting = new Set<string>();
  const closing = new AbortController();

  const start = (serviceName: string, endsAtMs: number): Holder => {
    const { promise: released, resolve } = Promise.withResolvers<void>();
    const isHeld = (): boolean => holders.get(serviceName) === holder;
    const holder: Holder = {
      endsAtMs,
      released,
      isOver: () => !isHeld() || clock.monotonic() >= holder.endsAtMs,
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
    if (holder?.isOver() !== true) return holder;
    holder.release();
    return undefined;
  };
  const busySeconds = ({ endsAtMs }: Holder): number =>
    endsAtMs === Infinity ? CALL_SECONDS : Math.max(1, Math.ceil((endsAtMs - clock.monotonic()) / 1000));

  return {
    takeFor: (serviceName, forMs) => {
      if (closing.signal.aborted) throw stopping();
      const holder = holderOf(serviceName);
      if (holder !== undefined) return { busySeconds: busySeconds(holder) };
      if (waiting.has(serviceName)) return { busySeconds: CALL_SECONDS };
      return start(serviceName, clock.monotonic() + forMs);
    },
    take: async (serviceName) => {
      waiting.add(serviceName);
      try {
        for (let holder = holderOf(serviceName); holder !== undefined; holder = holderOf(serviceName)) {
          const look = delay(LOOK_MS, undefined, { ref: false, signal: closing.signal });
          await Promise.race([holder.released, look]);
        }
      } catch (error) {
        if (!closing.signal.aborted) throw error;
      } finally {
        waiting.delete(serviceName);
      }
      if (closing.signal.aborted) throw stopping();
      return start(serviceName, Infinity);
    },
    close: () => closing.abort(),
  };
}

/** Whoever comes to a refresh from then on. */
export const stopping = (): Error => refusal('UNAVAILABLE', 'the webhook stops');
