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
import type { TokenFamilies, TokenPair } from './token-family.ts';
import type { PreviousRefreshToken } from '../../core/session.ts';

/** Two requests at once may both refresh: within this time the second gets what the first got. */
const REPEAT_WITHIN_MS = 10_000;
const SEED_BYTES = 32;

/**
 * What a refresh token is to its session: the present one; the one before it, used a moment ago; or one that was used
 * up. Then two hold it, and nobody can tell which of them is the thief (RFC 9700 section 4.14.2).
 */
export type Standing = 'present' | 'repeated' | 'used';

/** @param kept undefined members: there is none */
export function standingOf(
  refreshToken: string,
  kept: { readonly refreshHash: string | undefined; readonly former: PreviousRefreshToken | undefined },
  clock: Clock,
): Standing {
  const hash = hashKey(refreshToken);
  if (hash === kept.refreshHash) return 'present';
  if (hash !== kept.former?.refreshHash) return 'used';
  const elapsedMs = clock.now() - (parseTime(kept.former.rotatedAt) ?? 0);
  // A clock that was set back gives no second chance to what was long over.
  return elapsedMs >= 0 && elapsedMs <= REPEAT_WITHIN_MS ? 'repeated' : 'used';
}

/** Makes the pairs that follow refresh tokens of one kind of session. */
export interface Rotation {
  /** The pair that follows the present token, and what is to be kept of that token. */
  next(
    sessionId: string,
    refreshToken: string,
  ): { readonly pair: TokenPair; readonly former: PreviousRefreshToken };
  /** The pair that a token was already exchanged for. */
  again(sessionId: string, refreshToken: string, former: PreviousRefreshToken): TokenPair;
}

/**
 * Seeds are kept wrapped, so that a token out of use stays worthless to who can read the database as well.
 *
 * @param options.name of what the seeds are for
 */
export function createRotation(options: {
  readonly families: TokenFamilies;
  readonly name: string;
  readonly masterKeys: MasterKeys;
  readonly clock: Clock;
}): Rotation {
  const { families, name, masterKeys, clock } = options;
  const purposeOf = (sessionId: string): string => `${name}:${sessionId}`;
  return {
    next: (sessionId, refreshToken) => {
      const seed = randomToken(SEED_BYTES);
      const wrappedSeed = toBase64url(masterKeys.wrap(utf8(seed), purposeOf(sessionId)));
      const rotatedAt = formatTime(clock.now());
      return {
        pair: families.nextPair(refreshToken, seed),
        former: { refreshHash: hashKey(refreshToken), rotatedAt, wrappedSeed },
      };
    },
    again: (sessionId, refreshToken, { wrappedSeed }) => {
      const wrapped = fromBase64url(wrappedSeed) ?? new Uint8Array();
      const seed = Buffer.from(masterKeys.unwrap(wrapped, purposeOf(sessionId))).toString('utf8');
      return families.nextPair(refreshToken, seed);
    },
  };
}
