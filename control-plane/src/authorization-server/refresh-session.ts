import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type Clock, hashKey } from '@svault/shared';
import { forgetIfOver } from '../sign-in/sessions.ts';
import { createRotation, standingOf } from '../sign-in/tokens/refresh-rotation.ts';
import type { Stores } from '../core/stores.ts';
import type { OauthSession } from '../core/oauth-session.ts';
import { endOauthSession } from './revocation.ts';
import { type IssuedTokens, issuedTokens, keptAccess, oauthTokens } from './session-tokens.ts';
import { type TokenRefusal, invalidGrant, refusedTarget } from './token-refusal.ts';
import { refusedAgent } from './refused-agent.ts';

/** What a client brings for the next pair. */
export interface SessionRefresh {
  readonly refreshToken: string;
  readonly clientId: string;
  readonly resource: string | undefined;
}

interface Refreshing {
  readonly clock: Clock;
  readonly masterKeys: MasterKeys;
}

/**
 * Gives the next pair of tokens for a refresh token and takes the token out of use; one used a moment ago gets the same
 * pair once more, and any other ends the session (`rotation.ts`). The agent is looked at each time: while it is suspended or
 * has MCP off nothing is rotated, and the session waits for it.
 *
 * @returns a refusal for whatever refreshes nothing; the ending of a session is then part of the transaction
 */
export async function refreshOauthSession(
  stores: Pick<Stores, 'agents' | 'audit' | 'oauthSessions' | 'sessions' | 'users' | 'vaults'>,
  { refreshToken, clientId, resource }: SessionRefresh,
  { clock, masterKeys }: Refreshing,
): Promise<IssuedTokens | TokenRefusal> {
  if (!oauthTokens.isRefreshToken(refreshToken)) return notValid();
  const family = oauthTokens.familyHashOf(refreshToken);
  const seen = await stores.oauthSessions.find(family);
  if (seen === undefined) return notValid();
  await stores.vaults.lockForUpdate(seen.session.vaultId);
  const found = await stores.oauthSessions.find(family);
  if (found === undefined || (await forgetIfOver(stores, found.session, clock))) return notValid();
  // Another client's token: nothing shows that this one ever had it.
  if (found.clientId !== clientId || found.refreshHash === undefined) return notValid();
  if (standingOf(refreshToken, found, clock) === 'used') {
    await endOauthSession(stores, found, 'a used refresh token came again');
    return notValid();
  }
  const { vaultId, userId } = found.session;
  if ((await stores.users.get(vaultId, userId)) === undefined) return notValid();
  const refusal =
    refusedTarget(resource, found.audience) ?? (await refusedAgent(stores, vaultId, found.agentId));
  return refusal ?? nextTokens(stores, found, refreshToken, { clock, masterKeys });
}

const notValid = (): TokenRefusal => invalidGrant('the refresh token is not valid, or not any more');

async function nextTokens(
  stores: Pick<Stores, 'oauthSessions' | 'sessions'>,
  found: OauthSession,
  refreshToken: string,
  { clock, masterKeys }: Refreshing,
): Promise<IssuedTokens> {
  const { session, former } = found;
  const rotation = createRotation({ families: oauthTokens, name: 'oauth-rotation', masterKeys, clock });
  if (former !== undefined && standingOf(refreshToken, found, clock) === 'repeated') {
    const pair = rotation.again(session.id, refreshToken, former);
    return issuedTokens(pair, keptAccess(pair, session, former.rotatedAt), clock);
  }
  const { pair, former: token } = rotation.next(session.id, refreshToken);
  const access = keptAccess(pair, session, token.rotatedAt);
  await stores.oauthSessions.rotate(session.id, { refreshHash: hashKey(pair.refreshToken), access }, token);
  await stores.sessions.touch(session.id, token.rotatedAt);
  return issuedTokens(pair, access, clock);
}
