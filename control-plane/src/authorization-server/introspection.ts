import { type Clock, formatTime, hashKey } from '@svault/shared';
import type { Stores } from '../core/stores.ts';
import type { TokenFacts } from '../core/oauth-session.ts';
import { oauthTokens } from './session-tokens.ts';

/**
 * What a resource server may know of a token: of a live access token of an active agent, at whichever resource it is good.
 *
 * @param token as somebody sent it
 * @returns undefined for anything else, without a reason (RFC 7662 section 2.2)
 */
export async function introspect(
  stores: Pick<Stores, 'oauthSessions'>,
  token: string,
  clock: Clock,
): Promise<TokenFacts | undefined> {
  if (!oauthTokens.isAccessToken(token)) return undefined;
  const facts = await stores.oauthSessions.factsOf(hashKey(token));
  if (facts?.agentStatus !== 'active') return undefined;
  return facts.expiresAt > formatTime(clock.now()) ? facts : undefined;
}
