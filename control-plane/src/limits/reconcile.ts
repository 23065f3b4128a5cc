import {
  type CounterStore,
  type OwnedCounter,
  type Window,
  lockedForMs,
  strikesAt,
  windowAt,
} from './kernel.ts';
import type { LimitedCaller } from './limiter.ts';
import type { BoxState, FlushedCounter, RedisReply } from './redis-counters.ts';

/*
 * Keeps the counters of this process and those at Redis in agreement. Each reply of Redis is copied into the store. What
 * only this process has counted is pending: the next request to Redis about the same counter flushes it, and takes it back
 * where no reply comes. A pending strike stays until a reply shows it, since Redis keeps the longer of two lockouts.
 */

/** The times of one request to Redis, on this process's clock. */
interface RoundTrip {
  readonly sentMs: number;
  readonly receivedMs: number;
}

/** The store for decisions that Redis has not made: their strikes are pending. */
export const withPendingStrikes = (store: CounterStore): CounterStore => ({
  ...store,
  setBox: (caller, box) => store.setBox(caller, { ...box, pending: true }),
});

/** The store for decisions without Redis: their uses are pending too. */
export const withPendingUses = (store: CounterStore): CounterStore => ({
  ...withPendingStrikes(store),
  setWindow: (counter, window) => store.setWindow(counter, withPending(window, (window.pending ?? 0) + 1)),
});

/** Takes the pending increments of a counter for one request; no other request sends them meanwhile. */
export function flush(store: CounterStore, counter: OwnedCounter, sentMs: number): FlushedCounter {
  const window = windowAt(store.window(counter), sentMs);
  if (window?.pending === undefined) return { counter, increments: 0, leftMs: 0 };
  store.setWindow(counter, withPending(window, 0));
  return { counter, increments: window.pending, leftMs: window.endsAtMs - sentMs };
}

/** Makes flushed increments pending again, since no reply came. Those of a window that has ended are dropped. */
export function unflush(
  store: CounterStore,
  flushed: readonly FlushedCounter[],
  { sentMs, receivedMs }: RoundTrip,
): void {
  for (const { counter, increments, leftMs } of flushed)
    if (receivedMs < sentMs + leftMs) addPending(store, counter, increments, receivedMs);
}

const NO_BOX: BoxState = { strikes: 0, violatedForMs: 0, lockedForMs: 0 };

/** The box of a caller where its last strike is pending. */
export function pendingBox(store: CounterStore, caller: LimitedCaller, nowMs: number): BoxState {
  const box = store.box(caller);
  if (box?.pending !== true) return NO_BOX;
  const { strikes, violatedAtMs } = box;
  return { strikes, violatedForMs: nowMs - violatedAtMs, lockedForMs: lockedForMs(box, nowMs) };
}

/** Copies a reply into the store. Counts only grow: where the store's is higher, Redis has lost some, and it stays. */
export function applyReply(
  store: CounterStore,
  { windows, box }: Pick<RedisReply, 'windows' | 'box'>,
  { sentMs, receivedMs }: RoundTrip,
): void {
  for (const { counter, count, leftMs } of windows) {
    const known = windowAt(store.window(counter), receivedMs);
    const pending = known?.pending ?? 0;
    const total = count + pending;
    if (count > 0 && total >= (known?.count ?? 0))
      store.setWindow(counter, withPending({ count: total, endsAtMs: sentMs + safeLeftMs(leftMs) }, pending));
  }
  if (box !== undefined) applyBox(store, box.caller, box.state, sentMs);
}

/**
 * Applies a reply that came too late: by then its request was decided here, and what it flushed was made pending again, but
 * Redis has counted both. Of a window that has ended it says nothing, since the store's window is the next one.
 */
export function applyLateReply(store: CounterStore, reply: RedisReply, times: RoundTrip): void {
  const { sentMs, receivedMs } = times;
  const windows = reply.windows.filter(({ leftMs }) => sentMs + safeLeftMs(leftMs) > receivedMs);
  for (const { counter, added } of windows) addPending(store, counter, -added, receivedMs);
  applyReply(store, { ...reply, windows }, times);
}

/** Copies the caller's box. Strikes that Redis has lost become pending; a longer lockout in the store stays. */
function applyBox(store: CounterStore, caller: LimitedCaller, state: BoxState, sentMs: number): void {
  const known = store.box(caller);
  const { strikes, violatedForMs } = state;
  const lockedUntilMs = sentMs + state.lockedForMs;
  if (strikes === 0) {
    if (known !== undefined && strikesAt(known, sentMs) > 0)
      store.setBox(caller, { ...known, pending: true });
  } else if (known === undefined || known.lockedUntilMs <= lockedUntilMs)
    store.setBox(caller, { strikes, violatedAtMs: sentMs - violatedForMs, lockedUntilMs });
}

function addPending(store: CounterStore, counter: OwnedCounter, increments: number, nowMs: number): void {
  const window = windowAt(store.window(counter), nowMs);
  if (window !== undefined)
    store.setWindow(counter, withPending(window, Math.max(0, (window.pending ?? 0) + increments)));
}

const withPending = ({ count, endsAtMs }: Window, pending: number): Window =>
  pending === 0 ? { count, endsAtMs } : { count, endsAtMs, pending };

/**
 * The rest of a window at Redis, shortened for clocks that differ in speed: a window that this process still saw running
 * after Redis ended it would deny what Redis admits.
 */
const safeLeftMs = (leftMs: number): number => Math.max(0, Math.floor(leftMs * 0.999) - 2);
