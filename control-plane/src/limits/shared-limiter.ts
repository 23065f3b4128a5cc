import type { Clock } from '@svault/shared';
import type { BoundedTally } from './bounded-tally.ts';
import { decide, decideAlone, refusedBy } from './decide.ts';
import type { LimitedCaller, Limiter, LimiterVerdict, Lockout } from './limiter.ts';
import type { Limits } from './limits.ts';
import {
  countingAlone,
  createTelling,
  decidingHere,
  noteBox,
  noteLate,
  noteWindows,
  untoldBox,
} from './mirror.ts';
import { lockedForMs } from './penalty-box.ts';
import { lockoutsIn, timeAndSweep } from './process-limiter.ts';
import type { Aside, RedisAnswer, RedisLimiter } from './redis-limiter.ts';
import type { Tally } from './tally.ts';

/**
 * The limits of several processes over one Redis, with this process's own beneath them.
 *
 * Redis decides. What it counted is noted here, so that the process goes on from there when Redis is away, and so that a
 * Redis that comes back empty does not begin at zero: a request must have room in both. While Redis keeps what it was
 * told, the process never knows of more uses than Redis but those that it is about to tell it, and so never refuses what
 * Redis lets through.
 *
 * What a process counts alone, it tells Redis with its next question about the same counter: a moment without Redis adds
 * to what is let through only what all processes together have no room for. An answer that comes too late has counted. So
 * it is with a lockout.
 */
export function createSharedLimiter({
  redis,
  usable,
  limits,
  tally,
  clock,
}: {
  readonly redis: RedisLimiter;
  /** False while Redis is known to be away: then nobody waits for it. */
  readonly usable: () => boolean;
  readonly limits: Limits;
  readonly tally: BoundedTally;
  readonly clock: Clock;
}): Limiter {
  const time = (): number => timeAndSweep(clock, tally);
  const [alone, here] = [countingAlone(tally), decidingHere(tally)];
  type DecideHere = (by: Tally, nowMs: number) => LimiterVerdict;

  /**
   * @param decideHere by what this process has counted: the answer where Redis has none, and a second opinion where it
   *   admits
   */
  const ask = async (
    question: (aside: Aside) => Promise<RedisAnswer>,
    decideHere: DecideHere,
    caller?: LimitedCaller,
  ): Promise<LimiterVerdict> => {
    const sentMs = time();
    const { tell, takeBack } = createTelling(tally, sentMs);
    const tellBox: Aside['tellBox'] = (asking) => untoldBox(tally, asking, sentMs);
    const onLate = (late: RedisAnswer): void => {
      noteLate(tally, late, { sentMs, answeredMs: time() });
      if (caller !== undefined) noteBox(tally, caller, late, sentMs);
    };
    const answer = await question({ tell, tellBox, onLate }).catch(() => undefined);
    const answeredMs = time();
    if (answer === undefined) {
      takeBack(answeredMs);
      return decideHere(alone, answeredMs);
    }
    const verdict = answer.verdict.allowed ? decideHere(here, answeredMs) : answer.verdict;
    noteWindows(tally, answer, { sentMs, answeredMs });
    if (caller !== undefined) noteBox(tally, caller, answer, sentMs);
    return verdict;
  };

  return {
    admit: (request) => {
      const decideHere: DecideHere = (by, nowMs) => decide(request, { tally: by, limits, nowMs });
      if (!usable()) return decideHere(alone, time());
      const box = tally.box(request);
      const lockedMs = lockedForMs(box, time());
      // Nothing is counted while a caller is locked out, so Redis, which knows of it, is not asked.
      if (lockedMs > 0 && box?.untold !== true) return refusedBy('penalty_box', lockedMs);
      return ask((aside) => redis.admit(request, aside), decideHere, request);
    },
    take: (counter, vaultId) => {
      const decideHere: DecideHere = (by, nowMs) => decideAlone({ ...counter, vaultId }, by, nowMs);
      return usable()
        ? ask((aside) => redis.take(counter, vaultId, aside), decideHere)
        : decideHere(alone, time());
    },
    lockouts: async (vaultId) => {
      const here = lockoutsIn(tally, vaultId, time());
      const there = usable() ? await redis.lockouts(vaultId).catch(() => []) : [];
      return longestOf([...here, ...there]);
    },
  };
}

/** Of each caller the lockout that goes on for longest. */
function longestOf(lockouts: readonly Lockout[]): readonly Lockout[] {
  const byCaller = new Map<string, Lockout>();
  for (const lockout of lockouts) {
    const known = byCaller.get(lockout.callerId);
    if (known === undefined || lockout.retryAfterSeconds >= known.retryAfterSeconds)
      byCaller.set(lockout.callerId, lockout);
  }
  return [...byCaller.values()];
}
