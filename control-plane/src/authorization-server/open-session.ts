import { type Clock, type Id, formatTime, hashKey } from '@svault/shared';
import { addSession } from '../sign-in/sessions.ts';
import type { User } from '../core/user.ts';
import type { Stores } from '../core/stores.ts';
import { type IssuedTokens, issuedTokens, keptAccess, oauthTokens } from './session-tokens.ts';

/** What a client is let do. */
export interface NewOauthSession {
  readonly agentId: Id<'agt'>;
  readonly clientId: string;
  readonly clientName: string;
  /** The resource that its tokens are for; no other takes them (RFC 8707). */
  readonly audience: string;
  /** Of the code that it is opened with, so that the code's second use ends it. */
  readonly codeHash: string | undefined;
}

/** Lets a client act as an agent, with the event. @param approver who let it */
export async function openOauthSession(
  stores: Pick<Stores, 'audit' | 'oauthSessions' | 'sessions'>,
  approver: User,
  { agentId, clientId, clientName, audience, codeHash }: NewOauthSession,
  clock: Clock,
): Promise<IssuedTokens> {
  const pair = oauthTokens.firstPair();
  const tokenHash = oauthTokens.familyHashOf(pair.accessToken);
  const opening = { kind: 'oauth', method: 'oauth', client: clientName, tokenHash } as const;
  const session = await addSession(stores, approver, { ...opening, agentId, clientId }, clock);
  const access = keptAccess(pair, session, formatTime(clock.now()));
  const refreshHash = hashKey(pair.refreshToken);
  await stores.oauthSessions.add(
    { sessionId: session.id, agentId, clientId, audience, codeHash, refreshHash },
    access,
  );
  await stores.audit.append({
    vaultId: session.vaultId,
    userId: session.userId,
    agentId,
    eventType: 'OAUTH_SESSION_CREATED',
    outcome: 'success',
    detail: { sessionId: session.id, clientId, client: session.client },
  });
  return issuedTokens(pair, access, clock);
}
