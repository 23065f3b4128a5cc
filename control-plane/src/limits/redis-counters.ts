import type { Id } from '@svault/shared';
import { type OwnedCounter, deniedBy, inSeconds } from './kernel.ts';
import type { Admission, CounterUsage, LimitedCaller, LimiterVerdict, Lockout } from './limiter.ts';
import { ADMIT, LOCKOUTS, type RedisScript, TAKE, USAGE } from './redis-scripts.ts';

/**
 * Runs a script at Redis. Rejects where the reply does not come in time.
 *
 * @param onLateReply gets a reply that comes after that: its script has counted
 */
export type RunScript = (
  script: RedisScript,
  keys: readonly string[],
  args: readonly string[],
  onLateReply?: (reply: unknown) => void,
) => Promise<unknown>;

/** A counter with the pending increments that a request takes to Redis, and what is left of their window. */
export interface FlushedCounter {
  readonly counter: OwnedCounter;
  readonly increments: number;
  readonly leftMs: number;
}

/** A penalty box in durations, since clocks differ; no strikes where there is none. */
export interface BoxState {
  readonly strikes: number;
  readonly violatedForMs: number;
  readonly lockedForMs: number;
}

/** What Redis decided, with the state after it. */
export interface RedisReply {
  readonly verdict: LimiterVerdict;
  /** Undefined for a counter alone. */
  readonly box: { readonly caller: LimitedCaller; readonly state: BoxState } | undefined;
  readonly windows: readonly {
    readonly counter: OwnedCounter;
    readonly count: number;
    readonly leftMs: number;
    /** What this request added to the count: its flushed increments, and its own use where it was counted. */
    readonly added: number;
  }[];
}

type OnLateReply = (reply: RedisReply) => void;

/** The counters at one Redis, which processes share. Each call is one script and one round trip. */
export type RedisCounters = ReturnType<typeof createRedisCounters>;

export function createRedisCounters(options: {
  readonly run: RunScript;
  /** What each key begins with. */
  readonly prefix: string;
  /** Replaces Redis's clock in tests. */
  readonly nowMs?: (() => number) | undefined;
}) {
  const { run, prefix, nowMs } = options;
  const time = (): string => (nowMs === undefined ? '' : String(nowMs()));
  /** The hash tag keeps an account's keys on one node. */
  const keyOf = ({ vaultId, name }: OwnedCounter): string =>
    vaultId === undefined ? `${prefix}{${name}}` : `${prefix}{${vaultId}}:${name}`;
  const boxPrefix = (vaultId: string): string => `${prefix}{${vaultId}}:box:`;
  const lockoutsKey = (vaultId: string): string => `${prefix}{${vaultId}}:lockouts`;

  return {
    /** @param counters floor, aggregate, extra counters */
    admit: async (
      { vaultId, callerId, traffic }: Admission,
      counters: readonly FlushedCounter[],
      pendingBox: BoxState,
      onLateReply: OnLateReply,
    ): Promise<RedisReply> => {
      const keys = [
        boxPrefix(vaultId) + callerId,
        ...counters.map(({ counter }) => keyOf(counter)),
        lockoutsKey(vaultId),
      ];
      const strikes = traffic === 'mcp_handshake' ? '0' : '1';
      const { strikes: pending, violatedForMs, lockedForMs } = pendingBox;
      const box = [pending, violatedForMs, lockedForMs].map(String);
      const args = [time(), callerId, strikes, ...box, ...counters.flatMap(argsOf)];
      const read = (reply: unknown): RedisReply => readAdmit(reply, { vaultId, callerId }, counters);
      return read(await run(ADMIT, keys, args, (reply) => onLateReply(read(reply))));
    },
    take: async (counter: FlushedCounter, onLateReply: OnLateReply): Promise<RedisReply> => {
      const args = [time(), ...argsOf(counter)];
      const read = (reply: unknown): RedisReply => readTake(reply, counter);
      return read(await run(TAKE, [keyOf(counter.counter)], args, (reply) => onLateReply(read(reply))));
    },
    usage: async (counters: readonly OwnedCounter[]): Promise<readonly CounterUsage[]> => {
      const lengths = counters.map(({ windowMs }) => String(windowMs));
      return readUsage(await run(USAGE, counters.map(keyOf), [time(), ...lengths]));
    },
    lockouts: async (vaultId: Id<'vlt'>): Promise<readonly Lockout[]> =>
      readLockouts(await run(LOCKOUTS, [lockoutsKey(vaultId)], [time(), boxPrefix(vaultId)])),
  };
}

const argsOf = ({ counter, increments, leftMs }: FlushedCounter): string[] =>
  [counter.limit, counter.windowMs, increments, leftMs].map(String);

function listOf(reply: unknown): readonly unknown[] {
  if (!Array.isArray(reply)) throw new TypeError('The reply of a limiter script is not a list');
  return reply;
}

/** The index of the first extra counter, after floor and aggregate. */
const EXTRA = 2;

function readAdmit(reply: unknown, caller: LimitedCaller, counters: readonly FlushedCounter[]): RedisReply {
  const [denied = 0, waitMs = 0, strikes = 0, violatedForMs = 0, lockedForMs = 0, ...pairs] =
    listOf(reply).map(Number);
  // Only the counters before a denial have counted; the extra ones count all or none.
  const counted = denied === 0 ? counters.length : Math.min(denied - 2, EXTRA);
  return {
    verdict: denied === 0 ? { allowed: true } : readDenial(denied - 2, waitMs, counters),
    box: { caller, state: { strikes, violatedForMs, lockedForMs } },
    windows: counters.map(({ counter, increments }, index) => ({
      counter,
      count: pairs[2 * index] ?? 0,
      leftMs: pairs[2 * index + 1] ?? 0,
      added: increments + (index < counted ? 1 : 0),
    })),
  };
}

/** @param index of the full counter; none for the penalty box */
function readDenial(index: number, waitMs: number, counters: readonly FlushedCounter[]): LimiterVerdict {
  const counter = counters[index]?.counter;
  if (counter === undefined) return deniedBy('penalty_box', waitMs);
  return deniedBy(counter.scope, waitMs, index < EXTRA ? undefined : counter.key);
}

function readTake(reply: unknown, { counter, increments }: FlushedCounter): RedisReply {
  const [full = 0, count = 0, leftMs = 0] = listOf(reply).map(Number);
  return {
    verdict: full === 0 ? { allowed: true } : deniedBy(counter.scope, leftMs, counter.key),
    box: undefined,
    windows: [{ counter, count, leftMs, added: increments + 1 - full }],
  };
}

function readUsage(reply: unknown): readonly CounterUsage[] {
  const list = listOf(reply).map(Number);
  return Array.from({ length: list.length / 2 }, (_, index) => ({
    used: list[2 * index] ?? 0,
    resetsInSeconds: inSeconds(list[2 * index + 1] ?? 0),
  }));
}

function readLockouts(reply: unknown): readonly Lockout[] {
  const list = listOf(reply);
  return Array.from({ length: list.length / 3 }, (_, index) => ({
    callerId: String(list[3 * index]) as LimitedCaller['callerId'],
    strikes: Number(list[3 * index + 1]),
    retryAfterSeconds: inSeconds(Number(list[3 * index + 2])),
  }));
}
