import { type Clock, formatTime, hashKey } from '@svault/shared';
import type { TokenFacts } from '../core/oauth-session.ts';
import type { Stores } from '../core/stores.ts';
import { oauthTokens } from './oauth-session.ts';

/**
 * Describes a live access token of an active agent, whichever resource it is for (RFC 7662 section 2.2).
 *
 * @param token as the caller sent it
 * @returns undefined for any other token, without a reason (RFC 7662 section 2.2)
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
