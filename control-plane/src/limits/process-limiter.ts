import type { Clock } from '@svault/shared';
import { type ProcessCounterStore, decisionTime } from './counter-store.ts';
import { countersOf, decide, decideOne, lockoutsIn, ownedBy, usageIn } from './kernel.ts';
import type { Limiter } from './limiter.ts';
import type { Limits } from './limits.ts';

/** The limits of one process, on its monotonic clock. */
export function createProcessLimiter(options: {
  readonly limits: Limits;
  readonly store: ProcessCounterStore;
  readonly clock: Clock;
}): Limiter {
  const { limits, store, clock } = options;
  const now = (): number => decisionTime(clock, store);
  return {
    admit: (request) => decide(request, countersOf(request, limits), { store, nowMs: now() }),
    take: (counter, vaultId) => decideOne(ownedBy(vaultId, counter), store, now()),
    usage: (counters, vaultId) => {
      const nowMs = now();
      return counters.map((counter) => usageIn(store, ownedBy(vaultId, counter), nowMs));
    },
    lockouts: (vaultId) => lockoutsIn(store, vaultId, now()),
  };
}
