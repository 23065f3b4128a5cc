/** A fixed window that began with its first use. A value: a use makes another one. */
export interface Window {
  /** On the clock of whoever keeps it, milliseconds. */
  readonly endsAtMs: number;
  /** Uses so far, at least one. */
  readonly count: number;
  /** Those among them that only this process has counted, and Redis is yet to be told of; absent for none. */
  readonly untold?: number;
}

/** The window as it stands at a time; undefined where none runs. */
export const windowAt = (window: Window | undefined, nowMs: number): Window | undefined =>
  window !== undefined && nowMs < window.endsAtMs ? window : undefined;

/**
 * For how long a counter has no room.
 *
 * @returns milliseconds until its window ends, 0 where there is room now
 */
export function fullForMs(window: Window | undefined, limit: number, nowMs: number): number {
  const running = windowAt(window, nowMs);
  return running !== undefined && running.count >= limit ? running.endsAtMs - nowMs : 0;
}

/** The window after one more use, which begins one where none runs. */
export function used(window: Window | undefined, windowMs: number, nowMs: number): Window {
  const running = windowAt(window, nowMs);
  if (running === undefined) return { endsAtMs: nowMs + windowMs, count: 1 };
  return { ...running, count: running.count + 1 };
}
