import type { TimeFloor } from './time-floor.ts';

/** Why a message whose own times hold is refused all the same. For the log. */
export type StaleReason = 'below_time_floor' | 'before_restore';

/** Protocol section 4: so long after a restore, messages from before it may still look fresh. */
const RESTORE_GRACE_MS = 30_000;

/**
 * Whether a request or a ticket may be accepted as far as this webhook's own past goes: it must not end below the
 * time floor, and not stem from before a restore, whose backup knows nothing of the claims made since.
 *
 * @returns a function of `created` or `iat` (seconds since 1970) and of the moment until which the message counts
 *   (milliseconds since 1970, skew included); its result is undefined for a fresh message
 */
export function createFreshnessCheck(deps: {
  readonly floor: Pick<TimeFloor, 'nowMs'>;
  /** When this data was restored from a backup, milliseconds since 1970; undefined: never. */
  readonly restoredAtMs: number | undefined;
}): (createdSeconds: number, untilMs: number) => StaleReason | undefined {
  const acceptedAfterMs = deps.restoredAtMs === undefined ? -Infinity : deps.restoredAtMs + RESTORE_GRACE_MS;
  return (createdSeconds, untilMs) => {
    if (untilMs < deps.floor.nowMs()) return 'below_time_floor';
    if (createdSeconds * 1000 <= acceptedAfterMs) return 'before_restore';
    return undefined;
  };
}

export type FreshnessCheck = ReturnType<typeof createFreshnessCheck>;
