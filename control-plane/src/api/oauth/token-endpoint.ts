import type { Request, Router } from 'express';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { Clock } from '@svault/shared';
import { exchangeCode } from '../../authorization-server/authorization-code-grant.ts';
import { SCOPE } from '../../authorization-server/client-metadata.ts';
import { identifyClient } from '../../authorization-server/clients.ts';
import type { IssuedTokens } from '../../authorization-server/oauth-session.ts';
import { refreshOauthSession } from '../../authorization-server/refresh-token-grant.ts';
import type { TokenError } from '../../authorization-server/token-error.ts';
import { attributed } from '../../core/change.ts';
import type { Origin } from '../../core/origin.ts';
import type { Stores, UnitOfWork } from '../../core/stores.ts';
import type { OriginReader } from '../http/request-origin.ts';
import type { RouteLimits } from '../http/route-limits.ts';
import { OAUTH_PATHS } from './oauth-paths.ts';
import { type OauthForm, OauthRefused, oauthEndpoint, readOauthForm, required } from './token-response.ts';

/** The token endpoint (RFC 6749 section 3.2, OAuth 2.1). */
export function createTokenEndpoint(options: {
  readonly stores: Pick<Stores, 'oauthClients' | 'oauthCodes' | 'oauthSessions'>;
  readonly unitOfWork: UnitOfWork;
  readonly limits: Pick<RouteLimits, 'countClient'>;
  readonly masterKeys: MasterKeys;
  readonly originOf: OriginReader;
  readonly clock: Clock;
}): Router {
  const { stores, unitOfWork, limits, masterKeys, originOf, clock } = options;

  /** Reads the request and counts it under its client, or under its address alone where no client is proven. */
  const readCountedForm = async (req: Request): Promise<OauthForm> => {
    const form = await readOauthForm(req).catch(async (error: unknown) => {
      await limits.countClient('oauth_token', undefined, req);
      throw error;
    });
    const { client_id: clientId, code, refresh_token: refreshToken } = form;
    const client =
      clientId === undefined ? undefined : await identifyClient(stores, clientId, { code, refreshToken });
    await limits.countClient('oauth_token', client === 'known' ? clientId : undefined, req);
    if (client === 'unknown') throw new OauthRefused('invalid_client', 'no client has this client_id');
    return form;
  };

  /** Runs the grant of the request in one transaction. */
  const grantTokens = (form: OauthForm, origin: Origin): Promise<IssuedTokens | TokenError> => {
    const grantType = required(form, 'grant_type');
    const [clientId, resource] = [required(form, 'client_id'), form['resource']];
    if (grantType === 'authorization_code') {
      const { redirect_uri: redirectUri, code_verifier: codeVerifier } = form;
      const exchange = { code: required(form, 'code'), clientId, redirectUri, codeVerifier, resource };
      return unitOfWork.runAcross((inside) => exchangeCode(attributed(inside, origin), exchange, clock));
    }
    if (grantType === 'refresh_token') {
      const refresh = { refreshToken: required(form, 'refresh_token'), clientId, resource };
      return unitOfWork.runAcross((inside) =>
        refreshOauthSession(attributed(inside, origin), refresh, { clock, masterKeys }),
      );
    }
    throw new OauthRefused('unsupported_grant_type', 'use authorization_code or refresh_token');
  };

  return oauthEndpoint(OAUTH_PATHS.token, {
    anyOrigin: true,
    handle: async (req, res) => {
      const tokens = await grantTokens(await readCountedForm(req), originOf(req, 'mcp'));
      if ('error' in tokens) throw new OauthRefused(tokens.error, tokens.error_description);
      // RFC 6749 section 5.1; the scope is included, since a client may have requested none.
      res.json({
        access_token: tokens.accessToken,
        token_type: 'Bearer',
        expires_in: tokens.expiresInSeconds,
        refresh_token: tokens.refreshToken,
        scope: SCOPE,
      });
    },
  });
}
