import type { TimeFloor } from './time-floor.ts';

/** Why a message is rejected although its own times are valid. For the log. */
type StaleReason = 'below_time_floor' | 'before_restore';

/** PROTOCOL.md section 4: how long after a restore a message from before it may still look fresh. */
const RESTORE_GRACE_MS = 30_000;

/**
 * When a restored webhook accepts messages again: the first whole second that `created` and `iat` can name after the grace time.
 *
 * @param restoredAtMs milliseconds since 1970, as the result
 */
export const acceptsAgainMs = (restoredAtMs: number): number =>
  (Math.floor((restoredAtMs + RESTORE_GRACE_MS) / 1_000) + 1) * 1_000;

/**
 * Whether the webhook's own past permits a request or a ticket: it must not expire below the time floor, and must not
 * have been created before a restore, since the backup does not have the claims made after it.
 *
 * @returns a function of `created` or `iat` (seconds since 1970) and of the moment at which the message expires
 *   (milliseconds since 1970, skew included); its result is undefined for a fresh message
 */
export function createFreshnessCheck(deps: {
  readonly floor: Pick<TimeFloor, 'nowMs'>;
  /** When this data was restored from a backup, milliseconds since 1970; undefined: never. */
  readonly restoredAtMs: number | undefined;
}): (createdSeconds: number, untilMs: number) => StaleReason | undefined {
  const acceptedFromMs = deps.restoredAtMs === undefined ? -Infinity : acceptsAgainMs(deps.restoredAtMs);
  return (createdSeconds, untilMs) => {
    if (untilMs < deps.floor.nowMs()) return 'below_time_floor';
    if (createdSeconds * 1000 < acceptedFromMs) return 'before_restore';
    return undefined;
  };
}

export type FreshnessCheck = ReturnType<typeof createFreshnessCheck>;
