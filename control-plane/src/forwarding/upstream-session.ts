import { createSingleFlight } from '@svault/server-kit/single-flight';
import { type Clock, type Id, Secret, formatTime, parseTime } from '@svault/shared';
import type { SessionProxy } from '../access/decision.ts';
import { oauthTokens, storedAccessToken } from '../authorization-server/oauth-session.ts';
import type { Actor } from '../core/actor.ts';
import { ApiError } from '../core/errors.ts';
import type { Proxy } from '../core/proxy.ts';
import type { AccessToken } from '../core/oauth-session.ts';
import type { Session } from '../core/session.ts';
import type { Stores, UnitOfWork } from '../core/stores.ts';
import { requireUnlocked } from '../core/vault.ts';
import { addSession, endSession, removeIfExpired } from '../sign-in/sessions.ts';
import type { TokenPair } from '../sign-in/tokens/token-family.ts';

/** Share of its life in which a token is sent, so that the upstream has time to use it. */
const USED_FOR = 2 / 3;
const MAX_CACHED_TOKENS = 10_000;

interface IssuedToken {
  readonly token: Secret<string>;
  readonly access: AccessToken;
}

interface CachedToken extends IssuedToken {
  /** Monotonic, so that a clock that is set back prolongs nothing. */
  readonly renewAtMs: number;
}

/**
 * The tokens of `sv_session` proxies: `svsess_` tokens of the proxy's agent, each for one upstream.
 *
 * A proxy is an OAuth client of its upstream with one session, stored under the proxy's id, so that people see and end it.
 * The session has no refresh token, and its access tokens stay in the process that issued them.
 */
export type UpstreamSessions = ReturnType<typeof createUpstreamSessions>;

export function createUpstreamSessions(options: {
  readonly stores: Pick<Stores, 'oauthSessions'>;
  readonly unitOfWork: UnitOfWork;
  readonly clock: Clock;
}) {
  const { stores, unitOfWork, clock } = options;
  /** The key names proxy, agent and upstream: no token is sent to another upstream or as another agent. */
  const cached = new Map<string, CachedToken>();
  const once = createSingleFlight<CachedToken>();

  /** Reads the database each time: an ended session ends its tokens in all processes at once. */
  const isValid = async ({ access, renewAtMs }: CachedToken): Promise<boolean> => {
    if (clock.monotonic() >= renewAtMs) return false;
    const facts = await stores.oauthSessions.introspect(access.tokenHash);
    return facts !== undefined && facts.expiresAt > formatTime(clock.now());
  };

  const renew = (key: string, proxy: SessionProxy): Promise<CachedToken> =>
    once(key, async () => {
      const issued = await unitOfWork.run(proxy.vaultId, (inside) => issueToken(inside, proxy, clock));
      const lifeMs = (parseTime(issued.access.expiresAt) ?? 0) - clock.now();
      const token = { ...issued, renewAtMs: clock.monotonic() + lifeMs * USED_FOR };
      cached.delete(key);
      const [oldest] = cached.keys();
      if (oldest !== undefined && cached.size >= MAX_CACHED_TOKENS) cached.delete(oldest);
      cached.set(key, token);
      return token;
    });

  const validToken = async (key: string, proxy: SessionProxy): Promise<CachedToken> => {
    const known = cached.get(key);
    if (known === undefined) return renew(key, proxy);
    if (await isValid(known)) return known;
    // Another request may have renewed it meanwhile.
    const next = cached.get(key);
    if (next !== known && next !== undefined) return next;
    cached.delete(key);
    return renew(key, proxy);
  };

  return {
    /**
     * @returns a valid access token, issued anew when two thirds of its life are over
     * @throws ApiError INVALID_KEY, AGENT_INACTIVE, VAULT_LOCKED, UNAVAILABLE where something changed since the decision
     */
    tokenFor: async (proxy: SessionProxy): Promise<Secret<string>> => {
      const { proxyId, agentId, upstreamUrl } = proxy;
      return (await validToken(`${proxyId} ${agentId} ${upstreamUrl}`, proxy)).token;
    },
  };
}

/** Issues a token in the proxy's session, or opens a session with its event. The transaction locks the account. */
async function issueToken(stores: Stores, proxy: SessionProxy, clock: Clock): Promise<IssuedToken> {
  // Specification, "OAuth session token": every refresh checks the agent's status again.
  const { agentId, upstreamUrl, name } = await activeProxy(stores, proxy);
  if (agentId !== proxy.agentId || upstreamUrl !== proxy.upstreamUrl)
    throw new ApiError('UNAVAILABLE', 'The proxy was changed a moment ago; try again.');
  const pair = oauthTokens.issue();
  const token = new Secret(pair.accessToken);
  const now = formatTime(clock.now());
  const session = await currentSession(stores, proxy, clock);
  if (session === undefined)
    return { token, access: await openSession(stores, proxy, { name, pair }, clock) };
  const access = storedAccessToken(pair, session, now);
  await stores.oauthSessions.addAccess(session.id, access);
  await stores.sessions.touch(session.id, now);
  return { token, access };
}

/**
 * Reads a proxy again, whose request has waited since it was decided.
 *
 * @throws ApiError VAULT_LOCKED, INVALID_KEY, AGENT_INACTIVE where that changed
 */
async function activeProxy(
  stores: Pick<Stores, 'agents' | 'proxies' | 'vaults'>,
  { vaultId, proxyId }: { readonly vaultId: Id<'vlt'>; readonly proxyId: Id<'prx'> },
): Promise<Proxy> {
  await requireUnlocked(stores, vaultId);
  const proxy = await stores.proxies.get(vaultId, proxyId);
  if (proxy?.status !== 'active') throw new ApiError('INVALID_KEY', 'This key is not valid.');
  const { agentId } = proxy;
  if (agentId !== undefined && (await stores.agents.get(vaultId, agentId))?.status !== 'active')
    throw new ApiError('AGENT_INACTIVE', 'The agent is not active.');
  return proxy;
}

async function currentSession(
  stores: Pick<Stores, 'oauthSessions' | 'sessions'>,
  { vaultId, proxyId, agentId, upstreamUrl }: SessionProxy,
  clock: Clock,
): Promise<Session | undefined> {
  for (const found of await stores.oauthSessions.ofClient(vaultId, proxyId)) {
    const fits = found.agentId === agentId && found.audience === upstreamUrl;
    if (fits && !(await removeIfExpired(stores, found.session, clock))) return found.session;
  }
  return undefined;
}

async function openSession(
  stores: Pick<Stores, 'audit' | 'oauthSessions' | 'sessions' | 'users'>,
  { vaultId, proxyId, agentId, upstreamUrl }: SessionProxy,
  { name, pair }: { readonly name: string; readonly pair: TokenPair },
  clock: Clock,
): Promise<AccessToken> {
  // No user approves this session. It belongs to the owner, and stays while members join and leave.
  const owner = await stores.users.ownerOf(vaultId);
  if (owner === undefined) throw new Error('an account has no owner');
  const tokenHash = oauthTokens.familyHashOf(pair.accessToken);
  const opening = { kind: 'oauth', method: 'oauth', client: name, tokenHash } as const;
  const session = await addSession(stores, owner, { ...opening, agentId, clientId: proxyId }, clock);
  const access = storedAccessToken(pair, session, session.createdAt);
  const stored = { sessionId: session.id, agentId, clientId: proxyId, audience: upstreamUrl };
  await stores.oauthSessions.add({ ...stored, codeHash: undefined, refreshHash: undefined }, access);
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

/** Ends the sessions of a proxy at its upstream, with their events. Their tokens are invalid from then on. */
export async function endProxySessions(
  stores: Pick<Stores, 'audit' | 'oauthSessions' | 'sessions'>,
  actor: Actor,
  proxyId: Id<'prx'>,
): Promise<void> {
  for (const { session } of await stores.oauthSessions.ofClient(actor.vaultId, proxyId))
    await endSession(stores, actor, session.id, undefined);
}
