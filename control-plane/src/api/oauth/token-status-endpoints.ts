import type { Router } from 'express';
import { type Clock, parseTime } from '@svault/shared';
import type { OriginReader } from '../http/request-origin.ts';
import type { RouteLimits } from '../http/route-limits.ts';
import { attributed } from '../../core/change.ts';
import { SCOPE } from '../../authorization-server/client-metadata.ts';
import { introspectToken, revokeByToken } from '../../authorization-server/token-status.ts';
import type { TokenFacts } from '../../core/oauth-session.ts';
import type { Stores, UnitOfWork } from '../../core/stores.ts';
import { oauthEndpoint, readOauthForm, required } from './token-response.ts';
import { OAUTH_PATHS } from './oauth-paths.ts';

/** The introspection endpoint (RFC 7662), without authentication: what a token's holder learns, a resource server needs. */
export function createIntrospectEndpoint(options: {
  readonly baseUrl: string;
  readonly stores: Pick<Stores, 'oauthSessions'>;
  readonly limits: Pick<RouteLimits, 'countAddress'>;
  readonly clock: Clock;
}): Router {
  const { baseUrl, stores, limits, clock } = options;
  return oauthEndpoint(OAUTH_PATHS.introspect, {
    anyOrigin: false,
    handle: async (req, res) => {
      await limits.countAddress('oauth_introspect', req);
      const facts = await introspectToken(stores, required(await readOauthForm(req), 'token'), clock);
      res.json(facts === undefined ? { active: false } : describe(facts, baseUrl));
    },
  });
}

const describe = (facts: TokenFacts, issuer: string): object => ({
  active: true,
  iss: issuer,
  aud: facts.audience,
  sub: facts.agentId,
  client_id: facts.clientId,
  scope: SCOPE,
  token_type: 'Bearer',
  iat: secondsOf(facts.issuedAt),
  exp: secondsOf(facts.expiresAt),
});

const secondsOf = (time: string): number => Math.floor((parseTime(time) ?? 0) / 1_000);

/** The revocation endpoint (RFC 7009). The token alone authorizes; `token_type_hint` and `client_id` are ignored. */
export function createRevokeEndpoint({
  unitOfWork,
  limits,
  originOf,
}: {
  readonly unitOfWork: UnitOfWork;
  readonly originOf: OriginReader;
  readonly limits: Pick<RouteLimits, 'countAddress'>;
}): Router {
  return oauthEndpoint(OAUTH_PATHS.revoke, {
    anyOrigin: false,
    handle: async (req, res) => {
      await limits.countAddress('oauth_revoke', req);
      const token = required(await readOauthForm(req), 'token');
      const origin = originOf(req, 'mcp');
      await unitOfWork.runAcross((inside) => revokeByToken(attributed(inside, origin), token));
      res.json({});
    },
  });
}
