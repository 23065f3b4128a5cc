import { formatTime, parseTime } from '@svault/shared';
import type { TokenMetadata } from '@svault/shared/schemas';
import type { RefreshAttempt } from '../core/refresh-attempt.ts';
import type { RefreshResult } from './refresh-result.ts';

/*
 * When the scheduler refreshes a token: pure functions of the webhook's record, the last attempt and the time.
 */

/** Specification, "Events": tokens that expire within an hour are refreshed. */
export const REFRESH_AHEAD_MS = 60 * 60_000;
/** The share of its life that a token of less than an hour has left when it is refreshed again. */
const LEFT_OF_SHORT_LIVES = 1 / 3;
/** `token_refresh` allows ten in an hour: spread over the hour, not spent in its first minutes. */
const SPACING_MS = 6 * 60_000;

/**
 * Whether a token is due for a refresh: within the hour before it expires. A token that lives no longer than an hour would
 * be due again at once, so it waits until a third of its life is left.
 *
 * @param attempt the last one, if any
 */
export function isDue(token: TokenMetadata, attempt: RefreshAttempt | undefined, nowMs: number): boolean {
  if (!token.hasRefreshToken || token.provider === undefined || token.empty) return false;
  // Only the owner can authorise again.
  if (token.reauthNeeded === true || token.expiryTime === undefined) return false;
  const expiresMs = parseTime(token.expiryTime) ?? Infinity;
  if (expiresMs - nowMs > REFRESH_AHEAD_MS) return false;
  if (attempt === undefined) return true;
  if (attempt.version === token.version) return isOver(attempt.nextAt, nowMs);
  const storedMs = parseTime(token.updatedAt) ?? nowMs;
  const leftMs = (expiresMs - storedMs) * LEFT_OF_SHORT_LIVES;
  return nowMs >= Math.max(expiresMs - leftMs, storedMs + SPACING_MS);
}

/** A pause longer than any began before the clock was set back. */
function isOver(nextAt: string, nowMs: number): boolean {
  const leftMs = (parseTime(nextAt) ?? nowMs) - nowMs;
  return leftMs <= 0 || leftMs > MAX_PAUSE_MS;
}

/** The longest pause, by back-off or by a limit. */
export const MAX_PAUSE_MS = 60 * 60_000;
const FIRST_PAUSE_MS = 60_000;
/** The share of a pause that is random, so that tokens that failed together are not retried together. */
const JITTER = 0.25;
/** Longer than an attempt takes: three calls of 10 s. */
const MAX_ATTEMPT_MS = 60_000;
/** Longer than a list of tokens is worked through, so that a process with an older list sees the attempt. */
const SETTLED_MS = 120_000;

/** A started attempt. If its process is killed, the next one may follow after a minute. */
export function startedAttempt(
  version: number,
  former: RefreshAttempt | undefined,
  nowMs: number,
): RefreshAttempt {
  const failures = former?.version === version ? former.failures : 0;
  return { version, failures, nextAt: formatTime(nowMs + MAX_ATTEMPT_MS) };
}

/**
 * The attempt after its result: when the next one may follow.
 *
 * @param random from 0 to below 1
 */
export function settledAttempt(
  { version, failures }: RefreshAttempt,
  result: RefreshResult,
  { nowMs, random }: { readonly nowMs: number; readonly random: number },
): RefreshAttempt {
  const after = (pauseMs: number, failed: number): RefreshAttempt => ({
    version,
    failures: failed,
    nextAt: formatTime(nowMs + pauseMs),
  });
  if (result.outcome === 'refreshed') return after(SETTLED_MS, 0);
  // Limited or busy: no refresh was attempted.
  if ('retryAfterSeconds' in result)
    return after(Math.min(result.retryAfterSeconds * 1_000, MAX_PAUSE_MS), failures);
  // Also where the webhook accepted it: the next list shows by the version whether it was refreshed.
  return after(backOffMs(failures + 1, random), failures + 1);
}

/**
 * Exponential back-off: a minute, doubled with each failure up to an hour, less up to a quarter.
 *
 * @param failures in a row, at least 1
 * @param random from 0 to below 1
 * @returns whole milliseconds
 */
export function backOffMs(failures: number, random: number): number {
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), MAX_PAUSE_MS);
  return Math.round(pauseMs * (1 - JITTER * random));
}
