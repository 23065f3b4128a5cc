import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type Clock, hashKey } from '@svault/shared';
import type { Stores } from '../core/stores.ts';
import { removeIfExpired } from '../sign-in/sessions.ts';
import { createRotation, refreshTokenState } from '../sign-in/tokens/refresh-rotation.ts';
import { noteClientUse } from './clients.ts';
import {
  type IssuedTokens,
  endOauthSession,
  issuedTokens,
  oauthTokens,
  storedAccessToken,
} from './oauth-session.ts';
import { type TokenError, checkAgent, checkResource, invalidGrant } from './token-error.ts';

/** The refresh request of RFC 6749 section 6. */
interface TokenRefresh {
  readonly refreshToken: string;
  readonly clientId: string;
  readonly resource: string | undefined;
}

const INVALID_TOKEN = invalidGrant('the refresh token is not valid, or not any more');

/**
 * Rotates a refresh token (RFC 9700 section 4.14.2). A token within its grace period gets the same pair again; a reused one
 * ends the session. While the agent is suspended or has MCP off nothing is rotated, and the session waits for it.
 * @returns an error where nothing is refreshed; the transaction is committed all the same, since it may end the session
 */
export async function refreshOauthSession(
  stores: Stores,
  { refreshToken, clientId, resource }: TokenRefresh,
  { clock, masterKeys }: { readonly clock: Clock; readonly masterKeys: MasterKeys },
): Promise<IssuedTokens | TokenError> {
  if (!oauthTokens.isRefreshToken(refreshToken)) return INVALID_TOKEN;
  const family = oauthTokens.familyHashOf(refreshToken);
  const seen = await stores.oauthSessions.find(family);
  if (seen === undefined) return INVALID_TOKEN;
  await stores.vaults.lockForUpdate(seen.session.vaultId);
  const found = await stores.oauthSessions.find(family);
  if (found === undefined || (await removeIfExpired(stores, found.session, clock))) return INVALID_TOKEN;
  const { session, previous, audience, agentId } = found;

  // RFC 6749 section 6: the token is bound to the client. Nothing shows that another one ever held it, so the session stays.
  if (found.clientId !== clientId || found.refreshHash === undefined) return INVALID_TOKEN;
  const state = refreshTokenState(refreshToken, found, clock);
  if (state === 'reused') {
    await endOauthSession(stores, found, 'a rotated refresh token was reused');
    return INVALID_TOKEN;
  }
  if ((await stores.users.get(session.vaultId, session.userId)) === undefined) return INVALID_TOKEN;
  const error = checkResource(resource, audience) ?? (await checkAgent(stores, session.vaultId, agentId));
  if (error !== undefined) return error;

  await noteClientUse(stores, clientId, clock);
  const rotation = createRotation({ families: oauthTokens, name: 'oauth-rotation', masterKeys, clock });
  if (state === 'within-grace' && previous !== undefined) {
    const pair = rotation.replay(session.id, refreshToken, previous);
    return issuedTokens(pair, storedAccessToken(pair, session, previous.rotatedAt), clock);
  }
  const { pair, previous: rotated } = rotation.rotate(session.id, refreshToken);
  const access = storedAccessToken(pair, session, rotated.rotatedAt);
  await stores.oauthSessions.rotate(session.id, { refreshHash: hashKey(pair.refreshToken), access }, rotated);
  await stores.sessions.touch(session.id, rotated.rotatedAt);
  return issuedTokens(pair, access, clock);
}
