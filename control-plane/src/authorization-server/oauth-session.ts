import { type Clock, type Id, formatTime, hashKey, parseTime } from '@svault/shared';
import { eventBy } from '../core/actor.ts';
import type { AccessToken, OauthSession } from '../core/oauth-session.ts';
import type { Session } from '../core/session.ts';
import type { Stores } from '../core/stores.ts';
import type { User } from '../core/user.ts';
import { addSession } from '../sign-in/sessions.ts';
import { type TokenPair, createTokenFamilies } from '../sign-in/tokens/token-family.ts';

/** Tokens of MCP clients. */
export const oauthTokens = createTokenFamilies({
  name: 'oauth-session',
  access: 'svsess',
  refresh: 'svsessr',
});

/** Short, since an access token travels with every request. Revocation does not wait for its end. */
const ACCESS_LIFETIME_MS = 60 * 60_000;

/** What a client gets for a code and for a refresh. */
export interface IssuedTokens extends TokenPair {
  readonly expiresInSeconds: number;
}

/** Opens the session in which a client acts as an agent, with its event. @param approver the user who consented */
export async function openOauthSession(
  stores: Pick<Stores, 'audit' | 'oauthSessions' | 'sessions'>,
  approver: User,
  consent: {
    readonly agentId: Id<'agt'>;
    readonly clientId: string;
    readonly clientName: string;
    /** The only resource that accepts its tokens (RFC 8707). */
    readonly audience: string;
    /** Of the code that opens it, so that the code's second use ends it. */
    readonly codeHash: string | undefined;
  },
  clock: Clock,
): Promise<IssuedTokens> {
  const { agentId, clientId, clientName, audience, codeHash } = consent;
  const pair = oauthTokens.issue();
  const tokenHash = oauthTokens.familyHashOf(pair.accessToken);
  const opening = { kind: 'oauth', method: 'oauth', client: clientName, tokenHash } as const;
  const session = await addSession(stores, approver, { ...opening, agentId, clientId }, clock);
  const access = storedAccessToken(pair, session, formatTime(clock.now()));
  const refreshHash = hashKey(pair.refreshToken);
  await stores.oauthSessions.add(
    { sessionId: session.id, agentId, clientId, audience, codeHash, refreshHash },
    access,
  );
  const detail = { sessionId: session.id, clientId, client: session.client };
  await stores.audit.append(eventBy(session, 'OAUTH_SESSION_CREATED', { agentId, detail }));
  return issuedTokens(pair, access, clock);
}

/** Ends a session, with an event that names no actor but a reason; in a transaction that locked the account. */
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

/** The stored form of an access token; it expires with its session at the latest. */
export function storedAccessToken(
  { accessToken }: Pick<TokenPair, 'accessToken'>,
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

/** `expires_in` is rounded, since issuing takes some milliseconds of the token's hour. */
export function issuedTokens(pair: TokenPair, { expiresAt }: AccessToken, clock: Clock): IssuedTokens {
  const leftMs = (parseTime(expiresAt) ?? 0) - clock.now();
  return { ...pair, expiresInSeconds: Math.max(0, Math.round(leftMs / 1_000)) };
}
