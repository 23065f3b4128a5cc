import type { Id } from '@svault/shared';
import { counterName } from './counter-name.ts';
import { countersOf, refusedBy } from './decide.ts';
import type { Admission, Counter, LimitedCaller, LimiterVerdict, Lockout } from './limiter.ts';
import type { Limits } from './limits.ts';
import { ADMIT, LOCKOUTS, type RedisScript, TAKE } from './redis-scripts.ts';
import type { OwnedCounter } from './tally.ts';

/**
 * Runs scripts at Redis; rejects where it does not answer in time.
 *
 * @param onLate hears an answer that comes after that
 */
export type RunScript = (
  script: RedisScript,
  keys: readonly string[],
  args: readonly string[],
  onLate?: (reply: unknown) => void,
) => Promise<unknown>;

/** Of a caller that has been locked out before, at some moment. */
export interface ToldBox {
  readonly strikes: number;
  readonly violatedForMs: number;
  readonly lockedForMs: number;
}

/** What goes along with a question, and what may come of it later. */
export interface Aside {
  /** Uses of a counter that Redis has not heard of: from here on they are taken for told. */
  readonly tell: (counter: OwnedCounter) => { readonly uses: number; readonly leftMs: number };
  /** Strikes that Redis has not heard of: none where there are no such. Told twice they count once. */
  readonly tellBox: (caller: LimitedCaller) => ToldBox;
  /** Hears an answer that came too late: its script has counted all the same. */
  readonly onLate: (answer: RedisAnswer) => void;
}

/** What Redis decided, with the counts that it decided on. */
export interface RedisAnswer {
  readonly verdict: LimiterVerdict;
  /** Of a caller that has been locked out before, as it is now. */
  readonly box: ToldBox | undefined;
  readonly windows: readonly {
    readonly counter: OwnedCounter;
    readonly count: number;
    readonly leftMs: number;
    /** Uses that are in the count since this question: what it told, and itself where it was counted. */
    readonly added: number;
  }[];
}

/** The limits at one Redis, for all processes that share it. Each call is one script and one round trip. */
export interface RedisLimiter {
  admit(request: Admission, aside: Aside): Promise<RedisAnswer>;
  take(counter: Counter, vaultId: Id<'vlt'> | undefined, aside: Aside): Promise<RedisAnswer>;
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
    admit: async (request, aside) => {
      const { vaultId, callerId, traffic } = request;
      const { floor, aggregate, extraCounters } = countersOf(request, limits);
      const asked = [floor, aggregate, ...extraCounters].map((counter) => ({
        counter,
        ...aside.tell(counter),
      }));
      const counterKeys = asked.map(({ counter }) => keyOf(counter));
      const keys = [boxPrefix(vaultId) + callerId, ...counterKeys, lockoutsKey(vaultId)];
      const strikes = traffic === 'mcp_handshake' ? '0' : '1';
      const box = aside.tellBox(request);
      const told = [box.strikes, box.violatedForMs, box.lockedForMs].map(String);
      const args = [time(), callerId, strikes, ...told, ...asked.flatMap(argsOf)];
      const read = (reply: unknown): RedisAnswer => toAnswer(numbersOf(reply), asked);
      return read(await run(ADMIT, keys, args, (reply) => aside.onLate(read(reply))));
    },
    take: async (counter, vaultId, aside) => {
      const owned = { ...counter, vaultId };
      const asked = { counter: owned, ...aside.tell(owned) };
      const read = (reply: unknown): RedisAnswer => toLoneAnswer(numbersOf(reply), asked);
      const args = [time(), ...argsOf(asked)];
      return read(await run(TAKE, [keyOf(owned)], args, (reply) => aside.onLate(read(reply))));
    },
    lockouts: async (vaultId) =>
      toLockouts(await run(LOCKOUTS, [lockoutsKey(vaultId)], [time(), boxPrefix(vaultId)])),
  };
}

function numbersOf(reply: unknown): readonly number[] {
  if (!Array.isArray(reply)) throw new TypeError('the limiter script answered something else than a list');
  return reply.map(Number);
}

/** A counter with the uses that Redis is told of. */
interface AskedCounter {
  readonly counter: OwnedCounter;
  readonly uses: number;
  readonly leftMs: number;
}

const argsOf = ({ counter, uses, leftMs }: AskedCounter): string[] =>
  [counter.limit, counter.windowMs, uses, leftMs].map(String);

/** Reads the answer of {@link ADMIT}. */
function toAnswer(reply: readonly number[], asked: readonly AskedCounter[]): RedisAnswer {
  const [refused = 0, waitMs = 0, strikes = 0, violatedForMs = 0, lockedForMs = 0, ...pairs] = reply;
  // What is behind a refusal is not counted; of the further counters all are, or none.
  const counted = refused === 0 ? asked.length : Math.min(refused - 2, FURTHER_BEGIN);
  const windows = asked.map(({ counter, uses }, index) => ({
    counter,
    count: pairs[2 * index] ?? 0,
    leftMs: pairs[2 * index + 1] ?? 0,
    added: uses + (index < counted ? 1 : 0),
  }));
  const box = strikes === 0 ? undefined : { strikes, violatedForMs, lockedForMs };
  return { verdict: toVerdict(refused, waitMs, asked), box, windows };
}

/** Reads the answer of {@link TAKE}. */
function toLoneAnswer(reply: readonly number[], { counter, uses }: AskedCounter): RedisAnswer {
  const [full = 0, count = 0, leftMs = 0] = reply;
  const verdict: LimiterVerdict =
    full === 0 ? { allowed: true } : refusedBy(counter.scope, leftMs, counter.key);
  return { verdict, box: undefined, windows: [{ counter, count, leftMs, added: uses + 1 - full }] };
}

const FURTHER_BEGIN = 2;

function toVerdict(refused: number, waitMs: number, asked: readonly AskedCounter[]): LimiterVerdict {
  if (refused === 0) return { allowed: true };
  const index = refused - 2;
  const counter = asked[index]?.counter;
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
