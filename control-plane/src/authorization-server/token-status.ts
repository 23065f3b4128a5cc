import { type Clock, formatTime, hashKey } from '@svault/shared';
import type { OauthSession, TokenFacts } from '../core/oauth-session.ts';
import type { Stores } from '../core/stores.ts';
import { endOauthSession, oauthTokens } from './oauth-session.ts';

/**
 * Describes a live access token of an active agent, whichever resource it is for; undefined for any other token, without a
 * reason (RFC 7662 section 2.2).
 */
export async function introspectToken(
  stores: Pick<Stores, 'oauthSessions'>,
  token: string,
  clock: Clock,
): Promise<TokenFacts | undefined> {
  if (!oauthTokens.isAccessToken(token)) return undefined;
  const facts = await stores.oauthSessions.introspect(hashKey(token));
  if (facts?.agentStatus !== 'active') return undefined;
  return facts.expiresAt > formatTime(clock.now()) ? facts : undefined;
}

/**
 * Ends the session of a token at once, with its event (RFC 7009 section 2.1). Any token of the session will do, also a
 * consumed or expired one: a client that revokes one token means the grant, and a thief can do no more than end it.
 * @param token as the client sent it; an unknown one ends nothing (RFC 7009 section 2.2)
 */
export async function revokeByToken(
  stores: Pick<Stores, 'audit' | 'oauthSessions' | 'sessions' | 'vaults'>,
  token: string,
): Promise<void> {
  if (!oauthTokens.isAccessToken(token) && !oauthTokens.isRefreshToken(token)) return;
  // A proxy's session has more access tokens than the one that it is found by.
  const find = async (): Promise<OauthSession | undefined> =>
    (await stores.oauthSessions.find(oauthTokens.familyHashOf(token))) ??
    stores.oauthSessions.findByAccess(hashKey(token));
  const seen = await find();
  if (seen === undefined) return;
  await stores.vaults.lockForUpdate(seen.session.vaultId);
  const found = await find();
  if (found !== undefined) await endOauthSession(stores, found, 'its client revoked it');
}
