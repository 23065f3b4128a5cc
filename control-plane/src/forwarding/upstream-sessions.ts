import { type Clock, type Secret, formatTime, parseTime } from '@svault/shared';
import type { Stores, UnitOfWork } from '../core/stores.ts';
import { type UpstreamToken, issueUpstreamToken } from './proxy-session.ts';
import type { SessionProxy } from '../access/proxy-access.ts';

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
    const facts = await stores.oauthSessions.factsOf(access.tokenHash);
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
