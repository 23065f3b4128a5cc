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
 * Both tokens of a session are 32 bytes: 16 that name the session's token family and stay the same through every rotation,
 * and 16 that are new each time. So a reused token shows at once, and a session needs no row per token.
 */

/** The tokens of a session: the access token for each request, and the refresh token for the next pair. */
export interface TokenPair {
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** The tokens of one kind of session. */
export type TokenFamilies = ReturnType<typeof createTokenFamilies>;

const HALF_BYTES = 16;

/** @param options.name of the kind of session, so that no hash finds sessions of two kinds */
export function createTokenFamilies(options: {
  readonly name: string;
  readonly access: KeyPrefix;
  readonly refresh: KeyPrefix;
}) {
  const { name, access, refresh } = options;
  const isAccessToken = (text: string): boolean => isWellFormedKey(access, text);
  const familyOf = (token: string): Uint8Array => {
    const prefix = isAccessToken(token) ? access : refresh;
    const bytes = fromBase64url(token.slice(prefix.length + 1)) ?? new Uint8Array();
    return bytes.subarray(0, HALF_BYTES);
  };
  return {
    /** Issues the first pair of a new family. */
    issue: (): TokenPair => {
      const family = randomBytesOf(HALF_BYTES);
      return {
        accessToken: tokenOf(access, family, randomBytesOf(HALF_BYTES)),
        refreshToken: tokenOf(refresh, family, randomBytesOf(HALF_BYTES)),
      };
    },
    /**
     * Derives the pair that follows a refresh token. The same token and seed give the same pair, so that a repeated refresh
     * makes no second branch; neither token nor seed gives anything away without the other.
     * @param refreshToken well-formed
     * @param seed random, stored wrapped with the session
     */
    rotate: (refreshToken: string, seed: string): TokenPair => {
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
    isRefreshToken: (text: string): boolean => isWellFormedKey(refresh, text),
    /** By which the session of a token is found. @param token well-formed, of either kind */
    familyHashOf: (token: string): string => hashKey(`${name} ${toBase64url(familyOf(token))}`),
  };
}

const tokenOf = (prefix: string, family: Uint8Array, secret: Uint8Array): string =>
  `${prefix}_${toBase64url(Buffer.concat([family, secret]))}`;

const randomBytesOf = (length: number): Buffer => Buffer.from(randomToken(length), 'base64url');
