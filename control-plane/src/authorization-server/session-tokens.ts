import { type Clock, formatTime, hashKey, parseTime } from '@svault/shared';
import type { Session } from '../core/session.ts';
import { type TokenPair, createTokenFamilies } from '../sign-in/tokens/token-family.ts';
import type { AccessToken } from '../core/oauth-session.ts';

/** Tokens of MCP clients (specification, "OAuth session token"). */
export const oauthTokens = createTokenFamilies({
  name: 'oauth-session',
  access: 'svsess',
  refresh: 'svsessr',
});

/** Shown with every request, so not for long; revocation does not wait for its end. */
const ACCESS_LIFETIME_MS = 60 * 60_000;

/** What a client gets for a code and for a refresh. */
export interface IssuedTokens {
  readonly accessToken: string;
  /** Undefined where nobody may refresh the session. */
  readonly refreshToken: string | undefined;
  readonly expiresInSeconds: number;
}

/** An access token as it is kept; it ends with its session at the latest. @param issuedAt where that was before now */
export function keptAccess(
  { accessToken }: TokenPair,
  session: Pick<Session, 'expiresAt'>,
  issuedAt: string,
): AccessToken {
  const end = formatTime((parseTime(issuedAt) ?? 0) + ACCESS_LIFETIME_MS);
  return {
    tokenHash: hashKey(accessToken),
    issuedAt,
    expiresAt: end < session.expiresAt ? end : session.expiresAt,
  };
}

/** What a client is told of its tokens; to the nearest second, since making them took a moment of their time. */
export function issuedTokens(
  { accessToken, refreshToken }: TokenPair,
  { expiresAt }: AccessToken,
  clock: Clock,
): IssuedTokens {
  const leftMs = (parseTime(expiresAt) ?? 0) - clock.now();
  return { accessToken, refreshToken, expiresInSeconds: Math.max(0, Math.round(leftMs / 1_000)) };
}
