import type { Request, Response, Router } from 'express';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { Clock } from '@svault/shared';
import type { RouteLimits } from '../http/route-limits.ts';
import { SCOPE } from '../../authorization-server/client-metadata.ts';
import { noteClientUse } from '../../authorization-server/client-use.ts';
import { standingOfClient } from '../../authorization-server/client-standing.ts';
import { exchangeCode } from '../../authorization-server/exchange-code.ts';
import { refreshOauthSession } from '../../authorization-server/refresh-session.ts';
import type { IssuedTokens } from '../../authorization-server/session-tokens.ts';
import type { TokenRefusal } from '../../authorization-server/token-refusal.ts';
import type { Stores, UnitOfWork } from '../../core/stores.ts';
import { type OauthForm, OauthRefused, oauthEndpoint, readOauthForm, required } from './token-response.ts';
import { OAUTH_PATHS } from './oauth-paths.ts';

type Answer = IssuedTokens | TokenRefusal;

/** The token endpoint (RFC 6749 section 3.2, OAuth 2.1): tokens for a code, and the next pair for a refresh token. */
export function createTokenEndpoint(options: {
  readonly stores: Pick<Stores, 'oauthClients' | 'oauthCodes' | 'oauthSessions'>;
  readonly unitOfWork: UnitOfWork;
  readonly limits: Pick<RouteLimits, 'countClient'>;
  readonly masterKeys: MasterKeys;
  readonly clock: Clock;
}): Router {
  const { stores, unitOfWork, limits, masterKeys, clock } = options;

  /** Reads the request and counts it: under its client where that is one, else under its address alone. */
  const admitted = async (req: Request): Promise<OauthForm> => {
    const form = await readOauthForm(req).catch(async (error: unknown) => {
      await limits.countClient('oauth_token', undefined, req);
      throw error;
    });
    const { client_id: clientId, code, refresh_token: refreshToken } = form;
    const standing =
      clientId === undefined ? undefined : await standingOfClient(stores, clientId, { code, refreshToken });
    await limits.countClient('oauth_token', standing === 'known' ? clientId : undefined, req);
    if (standing === 'unknown') throw new OauthRefused('invalid_client', 'no client has this client_id');
    return form;
  };

  /** What gave a client something notes its use, as a part of it. */
  const giving = (clientId: string, work: (inside: Stores) => Promise<Answer>): Promise<Answer> =>
    unitOfWork.runAcross(async (inside) => {
      const answer = await work(inside);
      if (!('refused' in answer)) await noteClientUse(inside, clientId, clock);
      return answer;
    });

  const answerTo = (form: OauthForm): Promise<Answer> => {
    const grantType = required(form, 'grant_type');
    const [clientId, resource] = [required(form, 'client_id'), form['resource']];
    if (grantType === 'authorization_code') {
      const { redirect_uri: redirectUri, code_verifier: codeVerifier } = form;
      const exchange = { code: required(form, 'code'), clientId, redirectUri, codeVerifier, resource };
      return giving(clientId, (inside) => exchangeCode(inside, exchange, clock));
    }
    if (grantType === 'refresh_token') {
      const refresh = { refreshToken: required(form, 'refresh_token'), clientId, resource };
      return giving(clientId, (inside) => refreshOauthSession(inside, refresh, { clock, masterKeys }));
    }
    throw new OauthRefused('unsupported_grant_type', 'use authorization_code or refresh_token');
  };

  const handle = async (req: Request, res: Response): Promise<void> => {
    const answer = await answerTo(await admitted(req));
    if ('refused' in answer) throw new OauthRefused(answer.refused, answer.why);
    res.json(bodyOf(answer));
  };
  return oauthEndpoint(OAUTH_PATHS.token, { anyOrigin: true, handle });
}

/** RFC 6749 section 5.1; the one scope there is was not asked for by that name in every case, so it is said. */
const bodyOf = ({ accessToken, refreshToken, expiresInSeconds }: IssuedTokens): object => ({
  access_token: accessToken,
  token_type: 'Bearer',
  expires_in: expiresInSeconds,
  refresh_token: refreshToken,
  scope: SCOPE,
});
