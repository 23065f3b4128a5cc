import { parseTime } from '@svault/shared';
import type { TokenMetadata } from '@svault/shared/schemas';
import type { RefreshAttempt } from '../core/refresh-attempt.ts';
import { MAX_PAUSE_MS } from './next-attempt.ts';

/** Specification, "Events": tokens expiring within an hour are refreshed. */
export const REFRESH_AHEAD_MS = 60 * 60_000;
/** Of the life of a token that was refreshed and lasts no hour: what is left when it is refreshed again. */
const LEFT_OF_SHORT_LIVES = 1 / 3;
/** `token_refresh` lets through ten in an hour: spread over it, not all of them in its first minutes. */
const SPACING_MS = 6 * 60_000;

/**
 * Whether the scheduler has something to do for a token as its webhook lists it. Within the hour before its end it is
 * refreshed at once; but one that lasts no longer than that would be due again at once, for ever. Such a one waits until a
 * third of its life is left.
 *
 * @param attempt the last one, if there was any
 */
export function isDue(token: TokenMetadata, attempt: RefreshAttempt | undefined, nowMs: number): boolean {
  if (!token.hasRefreshToken || token.provider === undefined || token.empty) return false;
  // The owner has to authorise anew; nobody else can do anything.
  if (token.reauthNeeded === true || token.expiryTime === undefined) return false;
  const expiresMs = parseTime(token.expiryTime) ?? Infinity;
  if (expiresMs - nowMs > REFRESH_AHEAD_MS) return false;
  if (attempt === undefined) return true;
  if (attempt.version === token.version) return isOver(attempt.nextAt, nowMs);
  const storedMs = parseTime(token.updatedAt) ?? nowMs;
  const leftMs = (expiresMs - storedMs) * LEFT_OF_SHORT_LIVES;
  return nowMs >= Math.max(expiresMs - leftMs, storedMs + SPACING_MS);
}

/** A pause of before the clock was set back would last as long as that. */
function isOver(nextAt: string, nowMs: number): boolean {
  const leftMs = (parseTime(nextAt) ?? nowMs) - nowMs;
  return leftMs <= 0 || leftMs > MAX_PAUSE_MS;
}
