import { type BoundedMap, createBoundedMap } from './bounded-map.ts';
import { counterName } from './counter-name.ts';
import type { LimitedCaller } from './limiter.ts';
import { type PenaltyBox, forgottenAtMs } from './penalty-box.ts';
import { isAddressScope } from './scopes.ts';
import type { OwnedCounter, Tally } from './tally.ts';
import type { Window } from './window.ts';

/**
 * Entries of some 200 bytes, so that all of them together stay well under 200 MB. Each kind has a map of its own: a flood
 * of addresses pushes out addresses, and no number of counters pushes out a lockout. Within a kind, what counted least
 * goes first.
 */
const MAX_CALLER_WINDOWS = 100_000;
const MAX_ADDRESS_WINDOWS = 50_000;
const MAX_BOXES = 25_000;

export interface BoundedTally extends Tally {
  /** Forgets what has ended by now among at most this many entries of each kind. */
  sweep(nowMs: number, entries: number): void;
  /** Entries held. */
  readonly size: number;
}

/** The counters of this process, on plain maps. */
export function createBoundedTally(): BoundedTally {
  const windows = (max: number): BoundedMap<Window> =>
    createBoundedMap({ max, endsAtMs: (window) => window.endsAtMs, weight: ({ count }) => count });
  const callers = windows(MAX_CALLER_WINDOWS);
  const addresses = windows(MAX_ADDRESS_WINDOWS);
  const boxes = createBoundedMap<PenaltyBox>({
    max: MAX_BOXES,
    endsAtMs: forgottenAtMs,
    weight: ({ strikes }) => strikes,
  });

  const mapOf = ({ scope }: OwnedCounter): BoundedMap<Window> =>
    isAddressScope(scope) ? addresses : callers;
  // A decision reads a counter and writes it: its name is made once.
  let named: OwnedCounter | undefined;
  let name = '';
  const nameOf = (counter: OwnedCounter): string => {
    if (counter !== named) name = `${counter.vaultId ?? ''} ${counterName(counter)}`;
    named = counter;
    return name;
  };

  return {
    window: (counter) => mapOf(counter).get(nameOf(counter)),
    setWindow: (counter, window) => mapOf(counter).set(nameOf(counter), window),
    box: ({ vaultId, callerId }) => boxes.get(`${vaultId} ${callerId}`),
    setBox: ({ vaultId, callerId }, box) => boxes.set(`${vaultId} ${callerId}`, box),
    boxesOf: function* (vaultId) {
      const prefix = `${vaultId} `;
      for (const [key, box] of boxes.entries())
        if (key.startsWith(prefix)) yield [key.slice(prefix.length) as LimitedCaller['callerId'], box];
    },
    sweep: (nowMs, entries) => {
      for (const map of [callers, addresses, boxes]) map.sweep(nowMs, entries);
    },
    get size() {
      return callers.size + addresses.size + boxes.size;
    },
  };
}
