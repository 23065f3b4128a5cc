import type { Clock } from '@svault/shared';
import { type BoundedMap, createBoundedMap } from './bounded-map.ts';
import {
  type CounterStore,
  type OwnedCounter,
  type PenaltyBox,
  type Window,
  boxExpiresAtMs,
} from './kernel.ts';
import type { LimitedCaller } from './limiter.ts';
import { isAddressScope } from './scopes.ts';

/**
 * Entries of about 200 bytes, so that all of them stay well under 200 MB. Each kind has its own map: a flood of addresses
 * evicts addresses, and no number of counters evicts a lockout. Within a kind the lowest counts go first.
 */
const MAX_CALLER_WINDOWS = 100_000;
const MAX_ADDRESS_WINDOWS = 50_000;
const MAX_BOXES = 25_000;

/** Per decision: under load expired entries go faster than new ones come. */
const CHECKED_PER_DECISION = 4;

/** The counters that this process holds in memory. */
export interface ProcessCounterStore extends CounterStore {
  /** Evicts the expired ones among the next `entries` of each kind. */
  evictExpired(nowMs: number, entries: number): void;
  /** Entries held. */
  readonly size: number;
}

export function createCounterStore(): ProcessCounterStore {
  const windows = (max: number): BoundedMap<Window> =>
    createBoundedMap({ max, endsAtMs: (window) => window.endsAtMs, weight: ({ count }) => count });
  const callers = windows(MAX_CALLER_WINDOWS);
  const addresses = windows(MAX_ADDRESS_WINDOWS);
  const boxes = createBoundedMap<PenaltyBox>({
    max: MAX_BOXES,
    endsAtMs: boxExpiresAtMs,
    weight: ({ strikes }) => strikes,
  });

  const mapOf = ({ scope }: OwnedCounter): BoundedMap<Window> =>
    isAddressScope(scope) ? addresses : callers;

  return {
    window: (counter) => mapOf(counter).get(counter.id),
    setWindow: (counter, window) => mapOf(counter).set(counter.id, window),
    box: ({ vaultId, callerId }) => boxes.get(`${vaultId} ${callerId}`),
    setBox: ({ vaultId, callerId }, box) => boxes.set(`${vaultId} ${callerId}`, box),
    boxesOf: function* (vaultId) {
      const prefix = `${vaultId} `;
      for (const [key, box] of boxes.entries())
        if (key.startsWith(prefix)) yield [key.slice(prefix.length) as LimitedCaller['callerId'], box];
    },
    evictExpired: (nowMs, entries) => {
      for (const map of [callers, addresses, boxes]) map.evictExpired(nowMs, entries);
    },
    get size() {
      return callers.size + addresses.size + boxes.size;
    },
  };
}

/**
 * The time of a decision, which evicts a few expired entries first. In whole milliseconds: a fraction would make
 * `retryAfter` 61 seconds of a window of 60.
 */
export function decisionTime(clock: Clock, store: ProcessCounterStore): number {
  const nowMs = Math.floor(clock.monotonic());
  store.evictExpired(nowMs, CHECKED_PER_DECISION);
  return nowMs;
}
