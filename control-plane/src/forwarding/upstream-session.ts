import { type Clock, type Id, Secret, formatTime, parseTime } from '@svault/shared';
import type { SessionProxy } from '../access/decision.ts';
import { oauthTokens, storedAccessToken } from '../authorization-server/oauth-session.ts';
import type { Actor } from '../core/actor.ts';
import { refusal } from '../core/errors.ts';
import type { AccessToken } from '../core/oauth-session.ts';
import type { Session } from '../core/session.ts';
import type { Stores, UnitOfWork } from '../core/stores.ts';
import { addSession, endSession, removeIfExpired } from '../sign-in/sessions.ts';
import type { TokenPair } from '../sign-in/tokens/token-family.ts';
import { standingProxy } from './recheck.ts';

/** The tokens that the service sends to upstreams: `svsess_` of the proxy's agent, for that upstream and nobody else. */
export interface UpstreamSessions {
  /**
   * The access token in use, made anew in time; the agent's own never goes there.
   * @throws AppError INVALID_KEY, AGENT_INACTIVE, VAULT_LOCKED, UNAVAILABLE where something changed since the request was let in
   */
  tokenFor(proxy: SessionProxy): Promise<Secret<string>>;
}

/** Share of its life after which a token is not handed out any more: what the upstream does with it takes time too. */
const USED_FOR = 2 / 3;
/** Tokens held at once; one that is not held is made anew. */
const MAX_TOKENS = 10_000;

interface Held extends UpstreamToken {
  /** On the monotonic clock: a clock that is set back keeps nothing alive. */
  readonly renewAtMs: number;
}

export function createUpstreamSessions(options: {
  readonly stores: Pick<Stores, 'oauthSessions'>;
  readonly unitOfWork: UnitOfWork;
  readonly clock: Clock;
}): UpstreamSessions {
  const { stores, unitOfWork, clock } = options;
  /** By what a token is good for, so that none is ever sent to another upstream or as another agent. */
  const tokens = new Map<string, Held>();
  const underWay = new Map<string, Promise<Held>>();

  /** Looked up each time: a session that somebody ended is over at once, whichever process heard of it. */
  const isGood = async ({ access, renewAtMs }: Held): Promise<boolean> => {
    if (clock.monotonic() >= renewAtMs) return false;
    const facts = await stores.oauthSessions.introspect(access.tokenHash);
    return facts !== undefined && facts.expiresAt > formatTime(clock.now());
  };

  const issue = async (proxy: SessionProxy): Promise<Held> => {
    const issued = await unitOfWork.run(proxy.vaultId, (inside) => issueUpstreamToken(inside, proxy, clock));
    const lifeMs = (parseTime(issued.access.expiresAt) ?? 0) - clock.now();
    return { ...issued, renewAtMs: clock.monotonic() + lifeMs * USED_FOR };
  };

  const hold = (key: string, held: Held): Held => {
    tokens.delete(key);
    const [oldest] = tokens.keys();
    if (oldest !== undefined && tokens.size >= MAX_TOKENS) tokens.delete(oldest);
    tokens.set(key, held);
    return held;
  };

  const renew = (key: string, proxy: SessionProxy): Promise<Held> => {
    const shared =
      underWay.get(key) ??
      issue(proxy)
        .then((held) => hold(key, held))
        .finally(() => underWay.delete(key));
    underWay.set(key, shared);
    return shared;
  };

  const goodToken = async (key: string, proxy: SessionProxy): Promise<Held> => {
    const held = tokens.get(key);
    if (held === undefined) return renew(key, proxy);
    if (await isGood(held)) return held;
    // Another request may have found out sooner, and have made the next one already.
    const next = tokens.get(key);
    if (next !== held && next !== undefined) return next;
    tokens.delete(key);
    return renew(key, proxy);
  };

  return {
    tokenFor: async (proxy) => (await goodToken(keyOf(proxy), proxy)).token,
  };
}

const keyOf = ({ proxyId, agentId, upstreamUrl }: SessionProxy): string =>
  `${proxyId} ${agentId} ${upstreamUrl}`;

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
  const pair = oauthTokens.issue();
  const token = new Secret(pair.accessToken);
  const now = formatTime(clock.now());
  const session = await liveSession(stores, proxy, clock);
  if (session === undefined)
    return { token, access: await openProxySession(stores, proxy, { name, pair }, clock) };
  const access = storedAccessToken(pair, session, now);
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
    if (fits && !(await removeIfExpired(stores, found.session, clock))) return found.session;
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
  const access = storedAccessToken(pair, session, session.createdAt);
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
