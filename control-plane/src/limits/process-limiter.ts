import type { Clock } from '@svault/shared';
import type { BoundedTally } from './bounded-tally.ts';
import { decide, decideAlone } from './decide.ts';
import type { Limiter, Lockout } from './limiter.ts';
import type { Limits } from './limits.ts';
import { lockedForMs, strikesAt } from './penalty-box.ts';
import type { Tally } from './tally.ts';

/** With each decision, so that under load what has ended goes faster than new entries come. */
const SWEPT_WITH_EACH_DECISION = 4;

/** The limits of one process, on its own monotonic clock. */
export function createProcessLimiter({
  limits,
  tally,
  clock,
}: {
  readonly limits: Limits;
  readonly tally: BoundedTally;
  readonly clock: Clock;
}): Limiter {
  const time = (): number => timeAndSweep(clock, tally);
  return {
    admit: (request) => decide(request, { tally, limits, nowMs: time() }),
    take: (counter, vaultId) => decideAlone({ ...counter, vaultId }, tally, time()),
    lockouts: (vaultId) => lockoutsIn(tally, vaultId, time()),
  };
}

/**
 * Time in whole milliseconds: with a fraction, 60 s minus nothing would come to 61. Every decision asks for it, and so
 * makes room first.
 */
export function timeAndSweep(clock: Clock, tally: BoundedTally): number {
  const nowMs = Math.floor(clock.monotonic());
  tally.sweep(nowMs, SWEPT_WITH_EACH_DECISION);
  return nowMs;
}

/** Who of an account is locked out, by what a process has counted. */
export function lockoutsIn(tally: Tally, vaultId: string, nowMs: number): readonly Lockout[] {
  return [...tally.boxesOf(vaultId)].flatMap(([callerId, box]) => {
    const leftMs = lockedForMs(box, nowMs);
    const strikes = strikesAt(box, nowMs);
    return leftMs > 0 ? [{ callerId, strikes, retryAfterSeconds: Math.ceil(leftMs / 1_000) }] : [];
  });
}
