import { createHmac } from 'node:crypto';
import { fromBase64url, hashKey, isWellFormedKey, randomToken, toBase64url, utf8 } from '@svault/shared';

/*
 * Both keys of a signed-in command-line client are 32 bytes: 16 that say which session they belong to and stay the same
 * through every refresh, and 16 that are new each time. So a key of this session that is not its latest shows at once, and
 * a session needs no row per key that it ever had.
 */

/** What a command-line client shows: for a few minutes, and to get the next pair. */
export interface CliKeys {
  readonly accessToken: string;
  readonly refreshToken: string;
}

const ACCESS = 'svcli';
const REFRESH = 'svclir';
const HALF_BYTES = 16;

/** The first pair of a session. */
export function newCliKeys(): CliKeys {
  const family = randomBytesOf(HALF_BYTES);
  return {
    accessToken: keyOf(ACCESS, family, randomBytesOf(HALF_BYTES)),
    refreshToken: keyOf(REFRESH, family, randomBytesOf(HALF_BYTES)),
  };
}

/**
 * The pair that follows a refresh token. Whoever shows the same one again gets the same pair, so that a repeated refresh
 * makes no second branch; neither the token nor the seed gives anything away without the other.
 *
 * @param refreshToken a well-formed one
 * @param seed random, kept wrapped with the session
 */
export function nextCliKeys(refreshToken: string, seed: string): CliKeys {
  const family = bytesOf(REFRESH, refreshToken).subarray(0, HALF_BYTES);
  const derive = (purpose: string): Buffer =>
    createHmac('sha256', utf8(refreshToken)).update(`${purpose} ${seed}`).digest().subarray(0, HALF_BYTES);
  return {
    accessToken: keyOf(ACCESS, family, derive('access')),
    refreshToken: keyOf(REFRESH, family, derive('refresh')),
  };
}

/** Whether a bearer value has the form of an access token. */
export const isAccessToken = (text: string): boolean => isWellFormedKey(ACCESS, text);

/** Whether a text has the form of a refresh token. */
export const isRefreshToken = (text: string): boolean => isWellFormedKey(REFRESH, text);

/** By what the session of a well-formed key of either kind is found. */
export function familyHashOf(key: string): string {
  const prefix = isAccessToken(key) ? ACCESS : REFRESH;
  return hashKey(`cli-session ${toBase64url(bytesOf(prefix, key).subarray(0, HALF_BYTES))}`);
}

const keyOf = (prefix: string, family: Uint8Array, secret: Uint8Array): string =>
  `${prefix}_${toBase64url(Buffer.concat([family, secret]))}`;

function bytesOf(prefix: string, key: string): Buffer {
  const bytes = fromBase64url(key.slice(prefix.length + 1));
  return bytes ?? Buffer.alloc(0);
}

const randomBytesOf = (length: number): Buffer => Buffer.from(randomToken(length), 'base64url');
