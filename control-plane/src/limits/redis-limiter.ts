import type { Clock } from '@svault/shared';
import { type ProcessCounterStore, decisionTime } from './counter-store.ts';
import {
  type CounterStore,
  countersOf,
  decide,
  decideOne,
  deniedBy,
  lockedForMs,
  lockoutsIn,
  ownedBy,
  usageIn,
} from './kernel.ts';
import type { CounterUsage, Limiter, LimiterVerdict, Lockout } from './limiter.ts';
import type { Limits } from './limits.ts';
import {
  applyLateReply,
  applyReply,
  flush,
  pendingBox,
  unflush,
  withPendingStrikes,
  withPendingUses,
} from './reconcile.ts';
import type { FlushedCounter, RedisCounters, RedisReply } from './redis-counters.ts';

/**
 * The limits of several processes over one Redis, with the process's own store as a fallback.
 *
 * Redis decides. Its counts are copied into the store, so that the process goes on from them while Redis is away, and so
 * that a Redis that comes back empty does not start at zero: a request needs room in both. The store never counts more than
 * Redis but for pending increments, so it never denies what a Redis that lost nothing admits.
 *
 * The bound (docs/decisions/0004-limits.md): no process admits more than the limit, and all of them together admit at most
 * the limit and what they admitted without Redis.
 */
export function createRedisLimiter(options: {
  readonly redis: RedisCounters;
  /** False while Redis is known to be away: then no request waits for it. */
  readonly usable: () => boolean;
  readonly limits: Limits;
  readonly store: ProcessCounterStore;
  readonly clock: Clock;
}): Limiter {
  const { redis, usable, limits, store, clock } = options;
  const now = (): number => decisionTime(clock, store);
  const [withRedis, withoutRedis] = [withPendingStrikes(store), withPendingUses(store)];

  /**
   * @param flushed what the request takes along
   * @param decideHere decides where Redis does not reply, and confirms what Redis admits
   */
  const decideAtRedis = async (
    sentMs: number,
    flushed: readonly FlushedCounter[],
    send: (onLateReply: (reply: RedisReply) => void) => Promise<RedisReply>,
    decideHere: (by: CounterStore, nowMs: number) => LimiterVerdict,
  ): Promise<LimiterVerdict> => {
    const onLateReply = (late: RedisReply): void =>
      applyLateReply(store, late, { sentMs, receivedMs: now() });
    const reply = await send(onLateReply).catch(() => undefined);
    const times = { sentMs, receivedMs: now() };
    if (reply === undefined) {
      unflush(store, flushed, times);
      return decideHere(withoutRedis, times.receivedMs);
    }
    const verdict = reply.verdict.allowed ? decideHere(withRedis, times.receivedMs) : reply.verdict;
    applyReply(store, reply, times);
    return verdict;
  };

  return {
    admit: (request) => {
      const nowMs = now();
      const counters = countersOf(request, limits);
      const decideHere = (by: CounterStore, atMs: number): LimiterVerdict =>
        decide(request, counters, { store: by, nowMs: atMs });
      if (!usable()) return decideHere(withoutRedis, nowMs);
      const box = store.box(request);
      const lockedMs = lockedForMs(box, nowMs);
      // A locked-out request counts nothing, so a lockout that Redis knows of needs no round trip.
      if (lockedMs > 0 && box?.pending !== true) return deniedBy('penalty_box', lockedMs);
      const { floor, aggregate, extra } = counters;
      const flushed = [floor, aggregate, ...extra].map((counter) => flush(store, counter, nowMs));
      const pending = pendingBox(store, request, nowMs);
      return decideAtRedis(
        nowMs,
        flushed,
        (onLateReply) => redis.admit(request, flushed, pending, onLateReply),
        decideHere,
      );
    },
    take: (counter, vaultId) => {
      const nowMs = now();
      const owned = ownedBy(vaultId, counter);
      const decideHere = (by: CounterStore, atMs: number): LimiterVerdict => decideOne(owned, by, atMs);
      if (!usable()) return decideHere(withoutRedis, nowMs);
      const flushed = flush(store, owned, nowMs);
      return decideAtRedis(nowMs, [flushed], (onLateReply) => redis.take(flushed, onLateReply), decideHere);
    },
    usage: async (counters, vaultId) => {
      const owned = counters.map((counter) => ownedBy(vaultId, counter));
      const there = usable() ? await redis.usage(owned).catch(() => []) : [];
      const nowMs = now();
      return owned.map((counter, index) => moreOf(usageIn(store, counter, nowMs), there[index]));
    },
    lockouts: async (vaultId) => {
      const here = lockoutsIn(store, vaultId, now());
      const there = usable() ? await redis.lockouts(vaultId).catch(() => []) : [];
      return longestOf([...here, ...there]);
    },
  };
}

/** Redis knows of all processes, the store of what Redis does not have yet. */
const moreOf = (here: CounterUsage, there: CounterUsage | undefined): CounterUsage =>
  there === undefined || here.used > there.used ? here : there;

/** The longest lockout of each caller. */
function longestOf(lockouts: readonly Lockout[]): readonly Lockout[] {
  const byCaller = new Map<string, Lockout>();
  for (const lockout of lockouts) {
    const known = byCaller.get(lockout.callerId);
    if (known === undefined || lockout.retryAfterSeconds >= known.retryAfterSeconds)
      byCaller.set(lockout.callerId, lockout);
  }
  return [...byCaller.values()];
}
