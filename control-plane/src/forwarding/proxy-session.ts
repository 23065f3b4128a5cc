import { type Clock, type Id, Secret, formatTime } from '@svault/shared';
import type { Actor } from '../core/actor.ts';
import { addSession, endSession, forgetIfOver } from '../sign-in/sessions.ts';
import type { Session } from '../core/session-store.ts';
import { refusal } from '../core/errors.ts';
import { keptAccess, oauthTokens } from '../authorization-server/session-tokens.ts';
import type { AccessToken } from '../core/oauth-session-store.ts';
import { standingProxy } from './standing-proxy.ts';
import type { TokenPair } from '../sign-in/tokens/token-family.ts';
import type { Stores } from '../core/stores.ts';
import type { SessionProxy } from '../access/proxy-access.ts';

/*
 * A proxy is the client of its upstream: it has one session, of kind `oauth` under the proxy's id, in which its agent acts
 * there. The session is kept, so that people see and end it; its access tokens are held by the process that made them, and
 * nobody can refresh it.
 */

type IssuingStores = Pick<
  Stores,
  'agents' | 'audit' | 'oauthSessions' | 'proxies' | 'sessions' | 'users' | 'vaults'
>;

export interface UpstreamToken {
  readonly token: Secret<string>;
  readonly access: AccessToken;
}

/**
 * A further access token in the session of a proxy; where there is none any more, a new session with its event. Within a
 * transaction that holds the account.
 *
 * @throws AppError INVALID_KEY, AGENT_INACTIVE, VAULT_LOCKED where that changed since the request was let in; UNAVAILABLE
 *   where the proxy has another upstream or agent by now
 */
export async function issueUpstreamToken(
  stores: IssuingStores,
  proxy: SessionProxy,
  clock: Clock,
): Promise<UpstreamToken> {
  const name = await nameOfStanding(stores, proxy);
  const pair = oauthTokens.firstPair();
  const token = new Secret(pair.accessToken);
  const now = formatTime(clock.now());
  const session = await liveSession(stores, proxy, clock);
  if (session === undefined)
    return { token, access: await openProxySession(stores, proxy, { name, pair }, clock) };
  const access = keptAccess(pair, session, now);
  await stores.oauthSessions.addAccess(session.id, access);
  await stores.sessions.touch(session.id, now);
  return { token, access };
}

/** Ends what a proxy has at its upstream, with the event. Its tokens are no good from then on. */
export async function endProxySessions(
  stores: Pick<Stores, 'audit' | 'oauthSessions' | 'sessions'>,
  actor: Actor,
  proxyId: Id<'prx'>,
): Promise<void> {
  for (const { session } of await stores.oauthSessions.ofClient(actor.vaultId, proxyId))
    await endSession(stores, actor, session.id, undefined);
}

/** @returns the proxy's name. Specification, "OAuth session token": every refresh re-checks the agent's status */
async function nameOfStanding(stores: IssuingStores, asked: SessionProxy): Promise<string> {
  const { agentId, upstreamUrl, name } = await standingProxy(stores, asked);
  if (agentId !== asked.agentId || upstreamUrl !== asked.upstreamUrl)
    throw refusal('UNAVAILABLE', 'The proxy was changed a moment ago; try again.');
  return name;
}

async function liveSession(
  stores: IssuingStores,
  { vaultId, proxyId, agentId, upstreamUrl }: SessionProxy,
  clock: Clock,
): Promise<Session | undefined> {
  for (const found of await stores.oauthSessions.ofClient(vaultId, proxyId)) {
    const fits = found.agentId === agentId && found.audience === upstreamUrl;
    if (fits && !(await forgetIfOver(stores, found.session, clock))) return found.session;
  }
  return undefined;
}

async function openProxySession(
  stores: IssuingStores,
  { vaultId, proxyId, agentId, upstreamUrl }: SessionProxy,
  { name, pair }: { readonly name: string; readonly pair: TokenPair },
  clock: Clock,
): Promise<AccessToken> {
  // Nobody approves it at this moment. It is the account's, and stays while members come and go.
  const owner = await stores.users.ownerOf(vaultId);
  if (owner === undefined) throw new Error('an account has no owner');
  const tokenHash = oauthTokens.familyHashOf(pair.accessToken);
  const opening = { kind: 'oauth', method: 'oauth', client: name, tokenHash } as const;
  const session = await addSession(stores, owner, { ...opening, agentId, clientId: proxyId }, clock);
  const access = keptAccess(pair, session, session.createdAt);
  const kept = { sessionId: session.id, agentId, clientId: proxyId, audience: upstreamUrl };
  await stores.oauthSessions.add({ ...kept, codeHash: undefined, refreshHash: undefined }, access);
  const detail = { sessionId: session.id, clientId: proxyId, client: session.client };
  await stores.audit.append({
    vaultId,
    agentId,
    proxyId,
    eventType: 'OAUTH_SESSION_CREATED',
    outcome: 'success',
    detail,
  });
  return access;
}
