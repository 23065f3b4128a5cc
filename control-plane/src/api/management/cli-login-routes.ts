import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { Clock } from '@svault/shared';
import { beginCliLogin, exchangeCliCode } from '../../sign-in/cli/login.ts';
import { refreshCliSession } from '../../sign-in/cli/sessions.ts';
import { refusal } from '../../core/errors.ts';
import { type ManagementRoute, definePublicRoute } from './route-definition.ts';
import type { Stores, UnitOfWork } from '../../core/stores.ts';
import {
  cliCodeSchema,
  cliGrantSchema,
  cliLoginRequestSchema,
  cliLoginSchema,
  cliRefreshSchema,
} from './schemas/sign-in.ts';

/** What a client is called that does not say. */
const UNNAMED = 'a command-line client';

/** Sign-in of the command-line client: RFC 8252 (loopback redirect, or a code to paste) with RFC 7636 (PKCE). */
export function createCliLoginRoutes({
  baseUrl,
  clock,
  masterKeys,
  stores,
  unitOfWork,
}: {
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly masterKeys: MasterKeys;
  readonly stores: Pick<Stores, 'cliLogins'>;
  readonly unitOfWork: UnitOfWork;
}): readonly ManagementRoute[] {
  const shared = { method: 'post', tag: 'Sign-in' } as const;
  return [
    definePublicRoute({
      ...shared,
      path: '/api/cli/login/begin',
      operation: 'beginCliLogin',
      summary: 'Ask for a sign-in, which a person approves in a browser within ten minutes',
      audit: [],
      limit: 'cli_login_begin',
      body: cliLoginRequestSchema,
      answer: { status: 200, schema: cliLoginSchema },
      refusals: ['FORBIDDEN'],
      handle: ({ body: { codeChallenge, redirectUri, client = UNNAMED }, exchange: { address } }) =>
        beginCliLogin(stores, { codeChallenge, redirectUri, client, address }, { baseUrl, clock }),
    }),
    definePublicRoute({
      ...shared,
      path: '/api/cli/login/exchange',
      operation: 'exchangeCliCode',
      summary: 'Exchange an approved code for tokens; once, within five minutes, whatever comes of it',
      audit: ['LOGIN'],
      limit: 'cli_login_exchange',
      body: cliCodeSchema,
      answer: { status: 200, schema: cliGrantSchema },
      refusals: ['FORBIDDEN', 'UNAUTHENTICATED'],
      handle: async ({ body: { code, codeVerifier, requestId } }) => {
        const input = { code, codeVerifier, requestId };
        const grant = await unitOfWork.runAcross((inside) => exchangeCliCode(inside, input, clock));
        if (grant !== undefined) return grant;
        throw refusal('UNAUTHENTICATED', 'This code is not valid any more. Sign in again.');
      },
    }),
    definePublicRoute({
      ...shared,
      path: '/api/cli/login/refresh',
      operation: 'refreshCliSession',
      summary: 'Exchange a refresh token for the next pair; a token that was used before ends the session',
      audit: ['SESSION_REVOKED'],
      limit: 'cli_login_refresh',
      body: cliRefreshSchema,
      answer: { status: 200, schema: cliGrantSchema },
      refusals: ['FORBIDDEN', 'UNAUTHENTICATED'],
      handle: async ({ body: { refreshToken } }) => {
        const grant = await unitOfWork.runAcross((inside) =>
          refreshCliSession(inside, refreshToken, { clock, masterKeys }),
        );
        if (grant !== undefined) return grant;
        throw refusal('UNAUTHENTICATED', 'This session has ended. Sign in again.');
      },
    }),
  ];
}
