import { formatTime, parseTime } from '@svault/shared';
import { invalidArgument } from '../core/errors.ts';

/** Specification, "Grant duration: 1 hour to 30 days, or until revoked". */
export const MIN_GRANT_SECONDS = 3_600;
export const MAX_GRANT_SECONDS = 30 * 24 * 3_600;

/** A caller that names an instant computed it with its own clock, before its request travelled. */
const SLACK_MS = 60_000;

export interface ExpiryInput {
  readonly expiresInSeconds?: number | undefined;
  /** ISO 8601; null says "until revoked" aloud. */
  readonly grantExpiresAt?: string | null | undefined;
}

/**
 * When a new grant ends, from either form.
 *
 * @param nowMs epoch milliseconds
 * @returns the written form of the instant; undefined for "until revoked"
 * @throws AppError INVALID_ARGUMENT for both forms at once, and for an end outside 1 hour to 30 days from now
 */
export function grantExpiry(input: ExpiryInput, nowMs: number): string | undefined {
  const { expiresInSeconds, grantExpiresAt } = input;
  if (expiresInSeconds !== undefined && grantExpiresAt !== undefined)
    throw invalidArgument([{ path: 'grantExpiresAt', message: 'give this or expiresInSeconds, not both' }]);
  if (expiresInSeconds !== undefined) return formatTime(nowMs + expiresInSeconds * 1_000);
  if (grantExpiresAt === undefined || grantExpiresAt === null) return undefined;
  const endMs = parseTime(grantExpiresAt) ?? Number.NaN;
  const durationMs = endMs - nowMs;
  const fits =
    durationMs >= MIN_GRANT_SECONDS * 1_000 - SLACK_MS && durationMs <= MAX_GRANT_SECONDS * 1_000 + SLACK_MS;
  if (!fits)
    throw invalidArgument([{ path: 'grantExpiresAt', message: 'must be 1 hour to 30 days from now' }]);
  return formatTime(endMs);
}
