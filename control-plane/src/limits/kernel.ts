import { sha256, toBase64url, utf8 } from '@svault/shared';
import type {
  AccountCounter,
  Admission,
  CounterUsage,
  LimitedCaller,
  LimiterDenial,
  LimiterVerdict,
  Lockout,
} from './limiter.ts';
import type { Limits } from './limits.ts';
import { AGGREGATE_WINDOW_MS } from './scopes.ts';

/*
 * The rules of the limits as functions of values. All times are milliseconds on one clock, the store's.
 * `redis-scripts.ts` states the same rules in Lua.
 */

/** A fixed window that began with its first use. A value: a use makes a new one. */
export interface Window {
  readonly endsAtMs: number;
  /** Uses so far, at least 1. */
  readonly count: number;
  /** The uses among them that Redis does not have yet (`reconcile.ts`); absent for none. */
  readonly pending?: number;
}

/** The window if it is still running. */
export const windowAt = (window: Window | undefined, nowMs: number): Window | undefined =>
  window !== undefined && nowMs < window.endsAtMs ? window : undefined;

/** @returns milliseconds until a full window ends, 0 where there is room */
export function fullForMs(window: Window | undefined, limit: number, nowMs: number): number {
  const running = windowAt(window, nowMs);
  return running !== undefined && running.count >= limit ? running.endsAtMs - nowMs : 0;
}

/** The window after one more use, which begins one where none is running. */
export function afterUse(window: Window | undefined, windowMs: number, nowMs: number): Window {
  const running = windowAt(window, nowMs);
  if (running === undefined) return { endsAtMs: nowMs + windowMs, count: 1 };
  return { ...running, count: running.count + 1 };
}

/** Specification, "Penalty box". */
export const FIRST_LOCKOUT_MS = 1_000;
export const MAX_LOCKOUT_MS = 15 * 60_000;
export const DECAY_MS = 60 * 60_000;
/** From this strike on the lockout has its maximum length: 2^10 s is more than 15 minutes. */
export const MAX_STRIKES_COUNTED = 1 + Math.ceil(Math.log2(MAX_LOCKOUT_MS / FIRST_LOCKOUT_MS));

/** The strikes of a caller that exceeded its floor. */
export interface PenaltyBox {
  /** Right after the last violation. */
  readonly strikes: number;
  /** When the floor was last exceeded. */
  readonly violatedAtMs: number;
  readonly lockedUntilMs: number;
  /** Redis does not have the last strike yet (`reconcile.ts`). */
  readonly pending?: boolean;
}

/** Remaining strikes: one decays with each full hour without a violation. */
export function strikesAt(box: PenaltyBox | undefined, nowMs: number): number {
  if (box === undefined) return 0;
  return Math.max(0, box.strikes - Math.floor((nowMs - box.violatedAtMs) / DECAY_MS));
}

/** @returns milliseconds until the lockout ends, 0 where there is none */
export const lockedForMs = (box: PenaltyBox | undefined, nowMs: number): number =>
  box === undefined ? 0 : Math.max(0, box.lockedUntilMs - nowMs);

/**
 * The box after one more strike. The lockout is 1 s for the first strike and doubles with each up to 15 minutes; it lasts at
 * least until the floor's window ends.
 */
export function afterStrike(box: PenaltyBox | undefined, floorFullForMs: number, nowMs: number): PenaltyBox {
  const strikes = strikesAt(box, nowMs) + 1;
  const doubled = FIRST_LOCKOUT_MS * 2 ** (Math.min(strikes, MAX_STRIKES_COUNTED) - 1);
  const lockoutMs = Math.max(Math.min(doubled, MAX_LOCKOUT_MS), floorFullForMs);
  return { strikes, violatedAtMs: nowMs, lockedUntilMs: nowMs + lockoutMs };
}

/** When the lockout has ended and all strikes have decayed. */
export const boxExpiresAtMs = (box: PenaltyBox): number =>
  Math.max(box.lockedUntilMs, box.violatedAtMs + box.strikes * DECAY_MS);

/** A counter of one account, or of none where it counts an address. */
export interface OwnedCounter extends AccountCounter {
  readonly vaultId: string | undefined;
  /** Unique within the account. */
  readonly name: string;
  /** Unique in a store. Made once: a decision reads and writes by it. */
  readonly id: string;
}

/** All the state that a decision reads and changes. */
export interface CounterStore {
  window(counter: OwnedCounter): Window | undefined;
  setWindow(counter: OwnedCounter, window: Window): void;
  box(caller: LimitedCaller): PenaltyBox | undefined;
  setBox(caller: LimitedCaller, box: PenaltyBox): void;
  boxesOf(vaultId: string): Iterable<readonly [callerId: LimitedCaller['callerId'], PenaltyBox]>;
}

/** Ids and addresses are shorter; a caller's own text, such as a client id, may be as long as a header. */
const MAX_KEY_CHARACTERS = 120;

/**
 * Names a counter. A rule whose window changes gets a new counter. The name's length is bounded, so that a bound on entries
 * is a bound on memory.
 */
export function ownedBy(vaultId: string | undefined, counter: AccountCounter): OwnedCounter {
  const { scope, key, limit, windowMs } = counter;
  const short = key.length <= MAX_KEY_CHARACTERS ? key : `#${toBase64url(sha256(utf8(key)))}`;
  const name = `${scope}:${windowMs}:${short}`;
  return { scope, key, limit, windowMs, vaultId, name, id: `${vaultId ?? ''} ${name}` };
}

/** The counters of an admission in the order in which they are checked. */
interface AdmissionCounters {
  /** Or `mcp_handshake`. */
  readonly floor: OwnedCounter;
  readonly aggregate: OwnedCounter;
  readonly extra: readonly OwnedCounter[];
}

/** The counter of all agents and proxies of an account together. */
export const aggregateCounter = (limit: number): AccountCounter => ({
  scope: 'user_aggregate',
  key: '',
  limit,
  windowMs: AGGREGATE_WINDOW_MS,
});

export function countersOf(request: Admission, limits: Pick<Limits, 'counter'>): AdmissionCounters {
  const { vaultId, callerId, traffic, aggregateLimit: limit, extraCounters } = request;
  return {
    floor: ownedBy(vaultId, limits.counter(traffic, callerId)),
    aggregate: ownedBy(vaultId, aggregateCounter(limit)),
    extra: extraCounters.map((counter) => ownedBy(vaultId, counter)),
  };
}

const ALLOWED: LimiterVerdict = { allowed: true };

/** @param leftMs until there is room again, more than 0 */
export function deniedBy(scope: LimiterDenial['scope'], leftMs: number, key?: string): LimiterDenial {
  return { allowed: false, scope, retryAfterSeconds: inSeconds(leftMs), ...(key !== undefined && { key }) };
}

/** Rounded up, so that a caller that waits as long as a denial says is admitted. */
export const inSeconds = (ms: number): number => Math.ceil(ms / 1_000);

/**
 * Decides and counts one request of an agent or a proxy (specification, "Pipeline order for credential access" and "Handshake
 * exemption"). A denial counts nothing after the limit that denies.
 */
export function decide(
  request: Admission,
  { floor, aggregate, extra }: AdmissionCounters,
  { store, nowMs }: { readonly store: CounterStore; readonly nowMs: number },
): LimiterVerdict {
  const box = store.box(request);
  const locked = lockedForMs(box, nowMs);
  if (locked > 0) return deniedBy('penalty_box', locked);

  const floorFull = countIn(store, floor, nowMs);
  if (floorFull > 0 && request.traffic === 'mcp_handshake') return deniedBy(request.traffic, floorFull);
  if (floorFull > 0) {
    const struck = afterStrike(box, floorFull, nowMs);
    store.setBox(request, struck);
    return deniedBy(request.traffic, lockedForMs(struck, nowMs));
  }

  const aggregateFull = countIn(store, aggregate, nowMs);
  if (aggregateFull > 0) return deniedBy('user_aggregate', aggregateFull);

  return decideAll(extra, store, nowMs);
}

/** Decides and counts one use of several counters: all of them, or none where one is full. */
export function decideAll(
  counters: readonly OwnedCounter[],
  store: CounterStore,
  nowMs: number,
): LimiterVerdict {
  for (const counter of counters) {
    const full = fullForMs(store.window(counter), counter.limit, nowMs);
    if (full > 0) return deniedBy(counter.scope, full, counter.key);
  }
  for (const counter of counters) countIn(store, counter, nowMs);
  return ALLOWED;
}

/** Decides and counts one use of one counter. */
export function decideOne(counter: OwnedCounter, store: CounterStore, nowMs: number): LimiterVerdict {
  const full = countIn(store, counter, nowMs);
  return full > 0 ? deniedBy(counter.scope, full, counter.key) : ALLOWED;
}

/** @returns 0 where the use is counted, else the milliseconds until there is room */
function countIn(store: CounterStore, counter: OwnedCounter, nowMs: number): number {
  const window = store.window(counter);
  const full = fullForMs(window, counter.limit, nowMs);
  if (full === 0) store.setWindow(counter, afterUse(window, counter.windowMs, nowMs));
  return full;
}

/** How much of a counter is used. */
export function usageIn(store: CounterStore, counter: OwnedCounter, nowMs: number): CounterUsage {
  const running = windowAt(store.window(counter), nowMs);
  return running === undefined
    ? { used: 0, resetsInSeconds: 0 }
    : { used: running.count, resetsInSeconds: inSeconds(running.endsAtMs - nowMs) };
}

/** The callers of an account that are locked out. */
export function lockoutsIn(store: CounterStore, vaultId: string, nowMs: number): readonly Lockout[] {
  return [...store.boxesOf(vaultId)].flatMap(([callerId, box]) => {
    const leftMs = lockedForMs(box, nowMs);
    return leftMs > 0
      ? [{ callerId, strikes: strikesAt(box, nowMs), retryAfterSeconds: inSeconds(leftMs) }]
      : [];
  });
}
