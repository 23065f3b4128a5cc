import type { Router } from 'express';
import type { RouteLimits } from '../http/route-limits.ts';
import { revokeByToken } from '../../authorization-server/revocation.ts';
import type { UnitOfWork } from '../../core/stores.ts';
import { oauthEndpoint, readOauthForm, required } from './token-response.ts';
import { OAUTH_PATHS } from './oauth-paths.ts';

/**
 * Revocation (RFC 7009) of the whole session of a token of either kind, by whoever has one: a client of ours proves itself
 * by nothing else anyway. The hint and the client's id are not needed and not looked at.
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
