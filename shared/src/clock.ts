/** Time as a parameter, so that no test sleeps or fakes timers. */
export interface Clock {
  /** Wall clock, milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
  /** Milliseconds from an arbitrary start; never jumps and never runs backwards. For windows and durations. */
  monotonic(): number;
}

/** The machine's own clocks. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

/** A clock for tests: it moves only when a test advances it. */
export class ManualClock implements Clock {
  #wallMs: number;
  #monotonicMs = 0;

  /** @param startMs wall clock at the start, milliseconds since 1970 */
  constructor(startMs: number = Date.UTC(2026, 0, 1)) {
    this.#wallMs = startMs;
  }

  now(): number {
    return this.#wallMs;
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  /** Time passes: both clocks move on by `ms`. */
  advance(ms: number): void {
    if (ms < 0) throw new RangeError('time does not pass backwards; use jump for the wall clock');
    this.#wallMs += ms;
    this.#monotonicMs += ms;
  }

  /** Sets the wall clock forwards or back; the monotonic clock does not change. */
  jump(ms: number): void {
    this.#wallMs += ms;
  }
}

const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/;

/** PROTOCOL.md section 2: how times are written, `YYYY-MM-DDTHH:MM:SS.sssZ`. @param ms milliseconds since 1970 */
export function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}

/**
 * PROTOCOL.md section 2: how times are read, with zero to nine digits after the second, UTC only. Digits beyond the
 * millisecond are dropped.
 * @returns milliseconds since 1970; undefined for anything else, days that no calendar has included
 */
export function parseTime(text: string): number | undefined {
  const [, seconds, fraction = ''] = TIME.exec(text) ?? [];
  if (seconds === undefined) return undefined;
  const written = `${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
  const ms = Date.parse(written);
  // Date.parse turns 30 February into March; formatting the result must give the same text.
  return Number.isNaN(ms) || formatTime(ms) !== written ? undefined : ms;
}
