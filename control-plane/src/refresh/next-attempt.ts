import { formatTime } from '@svault/shared';
import type { RefreshAttempt } from '../core/refresh-attempt.ts';
import { backOffMs } from './back-off.ts';
import type { RefreshResult } from './refresh-result.ts';

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
