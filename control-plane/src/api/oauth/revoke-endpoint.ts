import type { Router } from 'express';
import type { RouteLimits } from '../http/route-limits.ts';
import { revokeByToken } from '../../authorization-server/revocation.ts';
import type { UnitOfWork } from '../../core/stores.ts';
import { oauthEndpoint, readOauthForm, required } from './token-response.ts';
import { OAUTH_PATHS } from './oauth-paths.ts';

/**
 * The revocation endpoint (RFC 7009). The token alone authorizes the request, since clients are public; `token_type_hint` and
 * `client_id` are ignored.
 */
export function createRevokeEndpoint({
  unitOfWork,
  limits,
}: {
  readonly unitOfWork: UnitOfWork;
  readonly limits: Pick<RouteLimits, 'countAddress'>;
}): Router {
  return oauthEndpoint(OAUTH_PATHS.revoke, {
    anyOrigin: false,
    handle: async (req, res) => {
      await limits.countAddress('oauth_revoke', req);
      const token = required(await readOauthForm(req), 'token');
      await unitOfWork.runAcross((inside) => revokeByToken(inside, token));
      res.json({});
    },
  });
}
