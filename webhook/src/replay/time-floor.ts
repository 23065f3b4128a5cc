import type { Clock } from '@svault/shared';

/** Persists the floor. Calls are synchronous and take part in an open transaction. */
export interface TimeFloorStore {
  /** Milliseconds since 1970; undefined before the first {@link TimeFloorStore.raiseFloor}. */
  floor(): number | undefined;
  /** Keeps the greater of the stored and the given value. */
  raiseFloor(floorMs: number): void;
}

/**
 * A moment that has certainly passed (monotonic high-water mark). It only rises, over restarts too.
 *
 * The wall clock alone cannot say what has expired: when it is set back, an expired ticket or a forgotten nonce would
 * be valid again. What expired before the floor stays expired, so claims below it may be forgotten.
 *
 * A wall clock that runs ahead must not raise the floor, or one wrong reading would lock the webhook until the time
 * that it showed. The floor therefore follows the wall clock only as far as the control plane confirms it: to 30 s, the
 * skew that the protocol allows, after the moment at which an accepted request says it was signed. (Tickets wait up to
 * 300 s for their use and confirm nothing.) From there it advances by the monotonic clock, which nobody can set. So
 * it runs ahead of a corrected clock by 30 s at most, and what the control plane signs then remains valid for 60 s.
 */
export function createTimeFloor(deps: { readonly clock: Clock; readonly store: TimeFloorStore }) {
  const { clock, store } = deps;
  let saved = store.floor() ?? 0;
  let anchorMs = saved;
  let anchorMonotonicMs = clock.monotonic();

  /** Milliseconds since 1970; 0 while nothing was ever confirmed. */
  const nowMs = (): number =>
    anchorMs === 0 ? 0 : Math.floor(anchorMs + clock.monotonic() - anchorMonotonicMs);

  /** Writes the floor, in an open transaction; the same one may forget the claims below it. */
  const save = (): void => {
    saved = nowMs();
    if (saved > 0) store.raiseFloor(saved);
  };

  return {
    nowMs,
    /** The later of wall clock and floor: for deciding whether something has expired. */
    latestMs: (): number => Math.max(clock.now(), nowMs()),
    /** An accepted request proves that this moment has passed, within the allowed skew; milliseconds since 1970. */
    confirm: (passedMs: number): void => {
      if (passedMs <= nowMs()) return;
      anchorMs = passedMs;
      anchorMonotonicMs = clock.monotonic();
    },
    save,
    /** Saves, if the floor rose by at least this much since it was last written. */
    saveIfRisen: (minRiseMs: number): void => {
      if (nowMs() >= saved + minRiseMs) save();
    },
  };
}

export type TimeFloor = ReturnType<typeof createTimeFloor>;
