import type { MasterKeys } from '@svault/server-kit/master-keys';
import {
  type Clock,
  formatTime,
  fromBase64url,
  hashKey,
  parseTime,
  randomToken,
  toBase64url,
  utf8,
} from '@svault/shared';
import type { PreviousRefreshToken } from '../../core/session.ts';
import type { TokenFamilies, TokenPair } from './token-family.ts';

/** Two concurrent requests may both refresh: within this time the second gets the pair of the first. */
const GRACE_PERIOD_MS = 10_000;
const SEED_BYTES = 32;

/** RFC 9700 section 4.14.2. A reused token has two holders, and nobody can tell which of them is the thief. */
type RefreshTokenState = 'current' | 'within-grace' | 'reused';

/** @param stored undefined members: the session has no such token */
export function refreshTokenState(
  refreshToken: string,
  stored: { readonly refreshHash: string | undefined; readonly previous: PreviousRefreshToken | undefined },
  clock: Clock,
): RefreshTokenState {
  const hash = hashKey(refreshToken);
  if (hash === stored.refreshHash) return 'current';
  if (hash !== stored.previous?.refreshHash) return 'reused';
  const elapsedMs = clock.now() - (parseTime(stored.previous.rotatedAt) ?? 0);
  // A clock that is set back begins no second grace period.
  return elapsedMs >= 0 && elapsedMs <= GRACE_PERIOD_MS ? 'within-grace' : 'reused';
}

/** What seeds are wrapped for, by the kind of session. */
export type RotationName = 'cli-rotation' | 'oauth-rotation';

const purposeOf = (name: RotationName, sessionId: string): string => `${name}:${sessionId}`;

/** @throws AeadFailed for a seed that was wrapped under another key or for another session */
export function openSeed(
  name: RotationName,
  sessionId: string,
  wrappedSeed: string,
  masterKeys: MasterKeys,
): string {
  const wrapped = fromBase64url(wrappedSeed) ?? new Uint8Array();
  return Buffer.from(masterKeys.unwrap(wrapped, purposeOf(name, sessionId))).toString('utf8');
}

/**
 * Makes the pairs that follow refresh tokens of one kind of session. Seeds are stored wrapped, for the purpose `name`: an
 * old token and the database together give nothing.
 */
export function createRotation(options: {
  readonly families: TokenFamilies;
  readonly name: RotationName;
  readonly masterKeys: MasterKeys;
  readonly clock: Clock;
}) {
  const { families, name, masterKeys, clock } = options;
  return {
    /** The pair that follows the current token, and what the session stores of that token. */
    rotate: (sessionId: string, refreshToken: string) => {
      const seed = randomToken(SEED_BYTES);
      const wrappedSeed = toBase64url(masterKeys.wrap(utf8(seed), purposeOf(name, sessionId)));
      const rotatedAt = formatTime(clock.now());
      const previous = { refreshHash: hashKey(refreshToken), rotatedAt, wrappedSeed };
      return { pair: families.rotate(refreshToken, seed), previous };
    },
    /** The pair that a token was rotated to before. */
    replay: (sessionId: string, refreshToken: string, { wrappedSeed }: PreviousRefreshToken): TokenPair =>
      families.rotate(refreshToken, openSeed(name, sessionId, wrappedSeed, masterKeys)),
  };
}
