import { createHmac } from 'node:crypto';
import {
  type KeyPrefix,
  fromBase64url,
  hashKey,
  isWellFormedKey,
  randomToken,
  toBase64url,
  utf8,
} from '@svault/shared';

/*
 * Both tokens of a session are 32 bytes: 16 that say which session they belong to and stay the same through every refresh,
 * and 16 that are new each time. So a token of this session that is not its latest shows at once, and a session needs no
 * row per token that it ever had.
 */

/** What a client shows: with each request, and to get the next pair. */
export interface TokenPair {
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** The tokens of one kind of session. */
export interface TokenFamilies {
  /** The first pair of a session. */
  firstPair(): TokenPair;
  /**
   * The pair that follows a refresh token. Whoever shows the same one again gets the same pair, so that a repeated refresh
   * makes no second branch; neither the token nor the seed gives anything away without the other.
   *
   * @param refreshToken a well-formed one
   * @param seed random, kept wrapped with the session
   */
  nextPair(refreshToken: string, seed: string): TokenPair;
  /** Whether a text has the form of an access token. */
  isAccessToken(text: string): boolean;
  /** Whether a text has the form of a refresh token. */
  isRefreshToken(text: string): boolean;
  /** By what the session of a well-formed token of either kind is found. */
  familyHashOf(token: string): string;
}

const HALF_BYTES = 16;

/** @param options.name of the kind of session, so that no hash stands for sessions of two kinds */
export function createTokenFamilies(options: {
  readonly name: string;
  readonly access: KeyPrefix;
  readonly refresh: KeyPrefix;
}): TokenFamilies {
  const { name, access, refresh } = options;
  const isAccessToken = (text: string): boolean => isWellFormedKey(access, text);
  const familyOf = (token: string): Uint8Array =>
    bytesOf(isAccessToken(token) ? access : refresh, token).subarray(0, HALF_BYTES);
  return {
    firstPair: () => {
      const family = randomBytesOf(HALF_BYTES);
      return {
        accessToken: tokenOf(access, family, randomBytesOf(HALF_BYTES)),
        refreshToken: tokenOf(refresh, family, randomBytesOf(HALF_BYTES)),
      };
    },
    nextPair: (refreshToken, seed) => {
      const family = familyOf(refreshToken);
      const derive = (purpose: string): Buffer =>
        createHmac('sha256', utf8(refreshToken))
          .update(`${purpose} ${seed}`)
          .digest()
          .subarray(0, HALF_BYTES);
      return {
        accessToken: tokenOf(access, family, derive('access')),
        refreshToken: tokenOf(refresh, family, derive('refresh')),
      };
    },
    isAccessToken,
    isRefreshToken: (text) => isWellFormedKey(refresh, text),
    familyHashOf: (token) => hashKey(`${name} ${toBase64url(familyOf(token))}`),
  };
}

const tokenOf = (prefix: string, family: Uint8Array, secret: Uint8Array): string =>
  `${prefix}_${toBase64url(Buffer.concat([family, secret]))}`;

function bytesOf(prefix: string, token: string): Uint8Array {
  return fromBase64url(token.slice(prefix.length + 1)) ?? new Uint8Array();
}

const randomBytesOf = (length: number): Buffer => Buffer.from(randomToken(length), 'base64url');
