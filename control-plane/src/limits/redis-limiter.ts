import type { Id } from '@svault/shared';
import { counterName } from './counter-name.ts';
import { countersOf, refusedBy } from './decide.ts';
import type { Admission, Counter, LimitedCaller, LimiterVerdict, Lockout } from './limiter.ts';
import type { Limits } from './limits.ts';
import { ADMIT, LOCKOUTS, type RedisScript, TAKE } from './redis-scripts.ts';
import type { OwnedCounter } from './tally.ts';

/** Runs scripts at Redis; rejects where it does not answer in time. */
export type RunScript = (
  script: RedisScript,
  keys: readonly string[],
  args: readonly string[],
) => Promise<unknown>;

/** What Redis decided, with the counts that it decided on. */
export interface RedisAnswer {
  readonly verdict: LimiterVerdict;
  /** Of a caller that has been locked out before, as it is now. */
  readonly box:
    { readonly strikes: number; readonly violatedForMs: number; readonly lockedForMs: number } | undefined;
  readonly windows: readonly {
    readonly counter: OwnedCounter;
    readonly count: number;
    readonly leftMs: number;
  }[];
}

/** The limits at one Redis, for all processes that share it. Each call is one script and one round trip. */
export interface RedisLimiter {
  admit(request: Admission): Promise<RedisAnswer>;
  take(counter: Counter, vaultId?: Id<'vlt'>): Promise<RedisAnswer>;
  lockouts(vaultId: Id<'vlt'>): Promise<readonly Lockout[]>;
}

/**
 * @param prefix what every key begins with
 * @param nowMs in place of Redis's own clock, for tests
 */
export function createRedisLimiter({
  run,
  limits,
  prefix,
  nowMs,
}: {
  readonly run: RunScript;
  readonly limits: Limits;
  readonly prefix: string;
  readonly nowMs?: () => number;
}): RedisLimiter {
  const time = (): string => (nowMs === undefined ? '' : String(nowMs()));
  /** All keys of an account lie together, should there be several Redis. */
  const keyOf = (counter: OwnedCounter): string =>
    counter.vaultId === undefined
      ? `${prefix}{${counterName(counter)}}`
      : `${prefix}{${counter.vaultId}}:${counterName(counter)}`;
  const boxPrefix = (vaultId: string): string => `${prefix}{${vaultId}}:box:`;
  const lockoutsKey = (vaultId: string): string => `${prefix}{${vaultId}}:lockouts`;

  return {
    admit: async (request) => {
      const { vaultId, callerId, traffic } = request;
      const { floor, aggregate, further } = countersOf(request, limits);
      const counters = [floor, aggregate, ...further];
      const keys = [boxPrefix(vaultId) + callerId, ...counters.map(keyOf), lockoutsKey(vaultId)];
      const strikes = traffic === 'mcp_handshake' ? '0' : '1';
      const bounds = counters.flatMap(({ limit, windowMs }) => [String(limit), String(windowMs)]);
      return toAnswer(numbersOf(await run(ADMIT, keys, [time(), callerId, strikes, ...bounds])), counters);
    },
    take: async (counter, vaultId) => {
      const owned = { ...counter, vaultId };
      const { limit, windowMs } = counter;
      const args = [time(), String(limit), String(windowMs)];
      const [full = 0, count = 0, leftMs = 0] = numbersOf(await run(TAKE, [keyOf(owned)], args));
      const verdict =
        full === 0 ? ({ allowed: true } as const) : refusedBy(counter.scope, leftMs, counter.key);
      return { verdict, box: undefined, windows: [{ counter: owned, count, leftMs }] };
    },
    lockouts: async (vaultId) =>
      toLockouts(await run(LOCKOUTS, [lockoutsKey(vaultId)], [time(), boxPrefix(vaultId)])),
  };
}

function numbersOf(reply: unknown): readonly number[] {
  if (!Array.isArray(reply)) throw new TypeError('the limiter script answered something else than a list');
  return reply.map(Number);
}

/** Reads the answer of {@link ADMIT}. */
function toAnswer(reply: readonly number[], counters: readonly OwnedCounter[]): RedisAnswer {
  const [refused = 0, waitMs = 0, strikes = 0, violatedForMs = 0, lockedForMs = 0, ...pairs] = reply;
  const windows = counters.map((counter, index) => ({
    counter,
    count: pairs[2 * index] ?? 0,
    leftMs: pairs[2 * index + 1] ?? 0,
  }));
  const box = strikes === 0 ? undefined : { strikes, violatedForMs, lockedForMs };
  return { verdict: toVerdict(refused, waitMs, counters), box, windows };
}

const FURTHER_BEGIN = 2;

function toVerdict(refused: number, waitMs: number, counters: readonly OwnedCounter[]): LimiterVerdict {
  if (refused === 0) return { allowed: true };
  const index = refused - 2;
  const counter = counters[index];
  if (counter === undefined) return refusedBy('penalty_box', waitMs);
  return refusedBy(counter.scope, waitMs, index < FURTHER_BEGIN ? undefined : counter.key);
}

/** Reads the answer of {@link LOCKOUTS}: caller, strikes, milliseconds left, caller, … */
function toLockouts(reply: unknown): readonly Lockout[] {
  if (!Array.isArray(reply)) return [];
  return Array.from({ length: reply.length / 3 }, (_, index) => ({
    callerId: String(reply[3 * index]) as LimitedCaller['callerId'],
    strikes: Number(reply[3 * index + 1]),
    retryAfterSeconds: Math.ceil(Number(reply[3 * index + 2]) / 1_000),
  }));
}
