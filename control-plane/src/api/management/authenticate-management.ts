import type { Actor } from '../../core/actor.ts';
import { resolveAdminKey } from '../../management/admin-keys.ts';
import { cliTokens, resolveCliSession } from '../../sign-in/cli/sessions.ts';
import { resolveSession } from '../../sign-in/sessions.ts';
import { readCookie } from '../http/cookies.ts';
import { ApiError } from '../../core/errors.ts';
import { isCrossSite, isSameOrigin, crossOriginError } from '../http/origin-check.ts';
import type { Needs } from './dependencies.ts';
import type { Exchange } from './route-definition.ts';

/**
 * Who is behind a management request: an admin key or a command-line client's access token in `Authorization`, or the console's
 * session cookie.
 *
 * @throws ApiError UNAUTHENTICATED, the same for every reason; FORBIDDEN under a cookie for a state-changing request
 *   that does not come from our own pages, and for any that another site's page made
 */
export type ManagementAuthenticator = (exchange: Exchange, method: string) => Promise<Actor>;

const SAFE_METHODS = ['GET', 'HEAD'];

export function createManagementAuthenticator({
  stores,
  clock,
  cookie: { name: cookieName },
  ownOrigin,
}: Needs<
  'clock' | 'cookie' | 'ownOrigin',
  'adminKeys' | 'cliSessions' | 'sessions'
>): ManagementAuthenticator {
  return async (exchange, method) => {
    const authorization = exchange.header('authorization');
    // A caller that sends a key means that key: falling back to a cookie would hide a revoked one.
    if (authorization !== undefined) {
      const bearer = bearerToken(authorization);
      const isCli = cliTokens.isAccessToken(bearer);
      const actor = await (isCli ? resolveCliSession : resolveAdminKey)(stores, bearer, clock);
      if (actor === undefined) return unauthenticated(exchange);
      return { ...actor, origin: exchange.origin(isCli ? 'cli' : 'rest', actor.credentialId) };
    }

    const cookie = readCookie(exchange.header('cookie'), cookieName);
    const actor = cookie === undefined ? undefined : await resolveSession(stores, cookie, clock);
    if (actor === undefined) return unauthenticated(exchange);
    const ownPage = SAFE_METHODS.includes(method)
      ? !isCrossSite(exchange.header)
      : isSameOrigin(exchange.header, ownOrigin);
    if (!ownPage) throw crossOriginError();
    return { ...actor, origin: exchange.origin('console', actor.credentialId) };
  };
}

const bearerToken = (authorization: string): string => /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '';

/** @throws ApiError UNAUTHENTICATED */
export function unauthenticated(exchange: Exchange): never {
  exchange.setHeader('WWW-Authenticate', 'Bearer realm="svault"');
  const isAgents = bearerToken(exchange.header('authorization') ?? '').startsWith('svagent_');
  throw new ApiError(
    'UNAUTHENTICATED',
    isAgents
      ? 'The key is that of an agent, which calls GET /api/agents/credentials?service=NAME. Everything else needs an admin key (svadmin_…).'
      : 'Sign in at /login, or send a valid admin key (svadmin_…, not that of an agent) as Authorization: Bearer.',
  );
}
