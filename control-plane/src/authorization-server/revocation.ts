import { hashKey } from '@svault/shared';
import type { Stores } from '../core/stores.ts';
import type { OauthSession } from '../core/oauth-session.ts';
import { oauthTokens } from './session-tokens.ts';

/**
 * Ends the session of a token at once, with the event (specification, "OAuth session": killed immediately). Any token of the
 * session will do, one that was used up or is over too: who lets go of it means all of it, and who has found one can do
 * no more than end what it belongs to.
 *
 * @param token as the client sent it; one that is unknown ends nothing (RFC 7009 section 2.2)
 */
export async function revokeByToken(
  stores: Pick<Stores, 'audit' | 'oauthSessions' | 'sessions' | 'vaults'>,
  token: string,
): Promise<void> {
  if (!oauthTokens.isAccessToken(token) && !oauthTokens.isRefreshToken(token)) return;
  const find = () => sessionOf(stores, token);
  const seen = await find();
  if (seen === undefined) return;
  await stores.vaults.lockForUpdate(seen.session.vaultId);
  const found = await find();
  if (found !== undefined) await endOauthSession(stores, found, 'its client let go of it');
}

/** A session that nobody refreshes has more access tokens than the one that it is found by. */
const sessionOf = async (
  { oauthSessions }: Pick<Stores, 'oauthSessions'>,
  token: string,
): Promise<OauthSession | undefined> =>
  (await oauthSessions.find(oauthTokens.familyHashOf(token))) ?? oauthSessions.findByAccess(hashKey(token));

/** Ends a session, with the event. Within a transaction that holds the account. @param reason why nobody of the account did */
export async function endOauthSession(
  stores: Pick<Stores, 'audit' | 'sessions'>,
  { session, agentId }: OauthSession,
  reason: string,
): Promise<void> {
  const { id, vaultId, userId } = session;
  await stores.sessions.remove(vaultId, id, userId);
  await stores.audit.append({
    vaultId,
    agentId,
    eventType: 'OAUTH_SESSION_REVOKED',
    outcome: 'success',
    detail: { sessionId: id, memberId: userId, reason },
  });
}
