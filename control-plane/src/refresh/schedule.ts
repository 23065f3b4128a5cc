import { formatTime, parseTime } from '@svault/shared';
import type { TokenMetadata } from '@svault/shared/schemas';
import type { RefreshAttempt } from '../core/refresh-attempt.ts';
import type { RefreshResult } from './refresh-result.ts';

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

/** Longer than an attempt takes: three calls of 10 s at most. */
const MAX_ATTEMPT_MS = 60_000;
/** Longer than a list of tokens is worked through: who still has one from before sees that it is done. */
const SETTLED_MS = 120_000;

/** No pause is longer: neither by back-off nor by a limit per hour. */
export const MAX_PAUSE_MS = 60 * 60_000;

/** An attempt that begins. If its process is killed, another may follow when its time is over. */
export function beginning(
  version: number,
  former: RefreshAttempt | undefined,
  nowMs: number,
): RefreshAttempt {
  const failures = former?.version === version ? former.failures : 0;
  return { version, failures, nextAt: formatTime(nowMs + MAX_ATTEMPT_MS) };
}

/**
 * What an attempt leaves behind.
 *
 * @param random from 0 to below 1
 */
export function settled(
  { version, failures }: RefreshAttempt,
  result: RefreshResult,
  { nowMs, random }: { readonly nowMs: number; readonly random: number },
): RefreshAttempt {
  const after = (pauseMs: number, failed: number): RefreshAttempt => ({
    version,
    failures: failed,
    nextAt: formatTime(nowMs + pauseMs),
  });
  switch (result.outcome) {
    case 'refreshed':
      return after(SETTLED_MS, 0);
    // It was not an attempt: nobody was asked to do anything.
    case 'limited':
    case 'busy':
      return after(Math.min(result.retryAfterSeconds * 1_000, MAX_PAUSE_MS), failures);
    // Whether anything comes of it shows in the next list, by the version.
    case 'accepted':
    case 'failed':
    case 'not_refreshable':
    case 'provider_not_configured':
    case 'reauth_needed':
    case 'webhook_unavailable':
      return after(backOffMs(failures + 1, random), failures + 1);
  }
}

const FIRST_MS = 60_000;
const MAX_MS = 60 * 60_000;
/** How much of a pause chance may take away, so that what failed together is not tried together. */
const JITTER = 0.25;

/**
 * How long to wait after so many attempts in a row that came to nothing: a minute, doubled with each, an hour at most, less
 * up to a quarter.
 *
 * @param failures at least 1
 * @param random from 0 to below 1
 * @returns whole milliseconds
 */
export function backOffMs(failures: number, random: number): number {
  const pauseMs = Math.min(FIRST_MS * 2 ** (failures - 1), MAX_MS);
  return Math.round(pauseMs * (1 - JITTER * random));
}
