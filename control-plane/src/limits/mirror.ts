import type { LimitedCaller } from './limiter.ts';
import type { RedisAnswer } from './redis-limiter.ts';
import type { Tally } from './tally.ts';
import { windowAt } from './window.ts';

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
    if (count > 0 && count >= (known?.count ?? 0))
      tally.setWindow(counter, { count, endsAtMs: sentMs + surelyLeft(leftMs) });
  }
}

/** Notes how often a caller was locked out at Redis, and until when. */
export function noteBox(tally: Tally, caller: LimitedCaller, { box }: RedisAnswer, sentMs: number): void {
  if (box === undefined) return;
  const lockedUntilMs = sentMs + box.lockedForMs;
  const known = tally.box(caller);
  if (known !== undefined && known.lockedUntilMs > lockedUntilMs) return;
  tally.setBox(caller, { strikes: box.strikes, violatedAtMs: sentMs - box.violatedForMs, lockedUntilMs });
}
