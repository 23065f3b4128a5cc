import type { LimitedCaller } from './limiter.ts';
import { lockedForMs, strikesAt } from './penalty-box.ts';
import type { RedisAnswer, ToldBox } from './redis-limiter.ts';
import type { OwnedCounter, Tally } from './tally.ts';
import { type Window, windowAt } from './window.ts';

/** Times around a question to Redis, on this process's monotonic clock, in whole milliseconds. */
interface Asked {
  readonly sentMs: number;
  readonly answeredMs: number;
}

/**
 * What is left of a window at Redis, as this process may rely on: the two clocks do not run exactly alike, and a window
 * that this process still saw running after Redis ended it would refuse what Redis let through.
 */
const surelyLeft = (leftMs: number): number => Math.max(0, Math.floor(leftMs * 0.999) - 2);

/**
 * Notes in this process what Redis has counted, for the moment when Redis is away or has forgotten it. Counts only grow:
 * where this process knows of more uses than Redis, Redis has lost some.
 */
export function noteWindows(tally: Tally, answer: RedisAnswer, { sentMs, answeredMs }: Asked): void {
  for (const { counter, count, leftMs } of answer.windows) {
    const known = windowAt(tally.window(counter), answeredMs);
    const untold = known?.untold ?? 0;
    if (count > 0 && count + untold >= (known?.count ?? 0))
      tally.setWindow(
        counter,
        withUntold({ count: count + untold, endsAtMs: sentMs + surelyLeft(leftMs) }, untold),
      );
  }
}

/** Notes how often a caller was locked out at Redis, and until when. Strikes that Redis has lost it is told of. */
export function noteBox(tally: Tally, caller: LimitedCaller, { box }: RedisAnswer, sentMs: number): void {
  const known = tally.box(caller);
  if (box === undefined) {
    if (known !== undefined && strikesAt(known, sentMs) > 0) tally.setBox(caller, { ...known, untold: true });
    return;
  }
  const lockedUntilMs = sentMs + box.lockedForMs;
  if (known !== undefined && known.lockedUntilMs > lockedUntilMs) return;
  tally.setBox(caller, { strikes: box.strikes, violatedAtMs: sentMs - box.violatedForMs, lockedUntilMs });
}

/** The same tally, for what this process decides by it: of strikes that Redis did not decide on, it is told. */
export function decidingHere(tally: Tally): Tally {
  return { ...tally, setBox: (caller, box) => tally.setBox(caller, { ...box, untold: true }) };
}

/** The same tally, for uses that this process counts alone: Redis is told of them with the next question. */
export function countingAlone(tally: Tally): Tally {
  return {
    ...decidingHere(tally),
    setWindow: (counter, window) => tally.setWindow(counter, withUntold(window, (window.untold ?? 0) + 1)),
  };
}

/** How long ago a caller was struck by this process alone, and what is left of its lockout; no strikes where it was not. */
export function untoldBox(tally: Tally, caller: LimitedCaller, nowMs: number): ToldBox {
  const box = tally.box(caller);
  return box?.untold === true
    ? { strikes: box.strikes, violatedForMs: nowMs - box.violatedAtMs, lockedForMs: lockedForMs(box, nowMs) }
    : NO_BOX;
}

const NO_BOX: ToldBox = { strikes: 0, violatedForMs: 0, lockedForMs: 0 };

/** Uses that one question tells Redis of. */
export interface Telling {
  /** What of a counter Redis has not heard of; no other question tells it meanwhile. */
  tell(counter: OwnedCounter): { readonly uses: number; readonly leftMs: number };
  /** There was no answer: as far as this process knows, nothing was told. */
  takeBack(nowMs: number): void;
}

const NOTHING = { uses: 0, leftMs: 0 };

export function createTelling(tally: Tally, sentMs: number): Telling {
  const told: { readonly counter: OwnedCounter; readonly uses: number; readonly endsAtMs: number }[] = [];
  return {
    tell: (counter) => {
      const window = windowAt(tally.window(counter), sentMs);
      if (window?.untold === undefined) return NOTHING;
      const { untold: uses, endsAtMs } = window;
      told.push({ counter, uses, endsAtMs });
      tally.setWindow(counter, withUntold(window, 0));
      return { uses, leftMs: endsAtMs - sentMs };
    },
    takeBack: (nowMs) => {
      for (const { counter, uses, endsAtMs } of told)
        if (nowMs < endsAtMs) addUntold(tally, counter, { uses, nowMs });
    },
  };
}

/**
 * Of an answer that came too late: what it counted has been told, though this process counted it as if it were alone. Of a
 * window that has ended by then it says nothing: what this process counts is the next one.
 */
export function noteLate(tally: Tally, answer: RedisAnswer, at: Asked): void {
  const windows = answer.windows.filter(({ leftMs }) => at.sentMs + surelyLeft(leftMs) > at.answeredMs);
  for (const { counter, added } of windows) addUntold(tally, counter, { uses: -added, nowMs: at.answeredMs });
  noteWindows(tally, { ...answer, windows }, at);
}

function addUntold(
  tally: Tally,
  counter: OwnedCounter,
  { uses, nowMs }: { readonly uses: number; readonly nowMs: number },
): void {
  const window = windowAt(tally.window(counter), nowMs);
  if (window !== undefined)
    tally.setWindow(counter, withUntold(window, Math.max(0, (window.untold ?? 0) + uses)));
}

const withUntold = ({ count, endsAtMs }: Window, untold: number): Window =>
  untold === 0 ? { count, endsAtMs } : { count, endsAtMs, untold };
