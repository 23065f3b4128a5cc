import { attributed } from '../../core/change.ts';
import type { SignInClient } from '../../sign-in/sessions.ts';
import * as z from 'zod';
import { ApiError } from '../../core/errors.ts';
import { EMAIL_CHARACTERS } from '../../core/user.ts';
import { beginCliLogin, exchangeCliCode } from '../../sign-in/cli/login.ts';
import { refreshCliSession } from '../../sign-in/cli/sessions.ts';
import { signInByLink } from '../../sign-in/login-link.ts';
import { isLoopbackRedirect } from '../../sign-in/loopback-redirect.ts';
import { noPasswordsHere } from '../../sign-in/methods.ts';
import { CODE_CHALLENGE_FORM, CODE_VERIFIER_FORM } from '../../sign-in/pkce.ts';
import { type SignedIn, endSession } from '../../sign-in/sessions.ts';
import { meSchema } from './account.ts';
import type { Needs } from './dependencies.ts';
import { SECRET_CHARACTERS } from './fields.ts';
import { type Exchange, type ManagementRoute, definePublicRoute, defineRoute } from './route-definition.ts';

const loginLinkSchema = z.strictObject({ token: z.string().min(1).max(200) }).meta({ id: 'LoginLink' });

const passwordLoginSchema = z
  .strictObject({
    email: z.string().min(1).max(EMAIL_CHARACTERS),
    password: z.string().min(1).max(SECRET_CHARACTERS),
  })
  .meta({ id: 'PasswordLogin' });

/**
 * An unauthenticated client chooses it, and a person reads it to decide: one line of visible characters, without stacked
 * marks that cover the lines below and without a change of reading direction.
 */
const CLIENT_FORM = /^(?!.*\p{M}{4})[^\p{C}\p{Zl}\p{Zp}\s](?:[^\p{C}\p{Zl}\p{Zp}]*[^\p{C}\p{Zl}\p{Zp}\s])?$/u;

const cliLoginRequestSchema = z
  .strictObject({
    codeChallenge: z
      .string()
      .regex(CODE_CHALLENGE_FORM, 'must be the base64url of a SHA-256 (RFC 7636, S256)'),
    redirectUri: z
      .string()
      .refine(isLoopbackRedirect, 'must be http://127.0.0.1:PORT/… or http://[::1]:PORT/… without a query')
      .optional()
      .meta({
        description: 'Loopback address that gets the code; without it the page shows the code to paste',
        examples: ['http://127.0.0.1:49152/callback'],
      }),
    client: z
      .string()
      .max(100)
      .regex(CLIENT_FORM, 'must be one line of characters that show, without spaces around it')
      .optional()
      .meta({ description: 'Shown to the person who approves' }),
  })
  .meta({ id: 'CliLoginRequest' });

const cliLoginSchema = z
  .object({
    requestId: z.string().meta({ examples: ['clr_…'], description: 'Also the state of the redirect' }),
    authorizeUrl: z.string().meta({ description: 'To be opened in a browser' }),
    userCode: z.string().meta({ examples: ['WDJB-MJHT'], description: 'To be compared with the page' }),
    expiresInSeconds: z.int(),
  })
  .meta({ id: 'CliLogin' });

const cliCodeSchema = z
  .strictObject({
    requestId: z.string().max(100).optional(),
    code: z.string().min(1).max(SECRET_CHARACTERS),
    codeVerifier: z.string().regex(CODE_VERIFIER_FORM, 'must be a code verifier (RFC 7636)'),
  })
  .meta({ id: 'CliCode' });

const cliRefreshSchema = z
  .strictObject({ refreshToken: z.string().min(1).max(SECRET_CHARACTERS) })
  .meta({ id: 'CliRefresh' });

const cliGrantSchema = z
  .object({
    accessToken: z.string().meta({ examples: ['svcli_…'] }),
    refreshToken: z
      .string()
      .meta({ examples: ['svclir_…'], description: 'Takes the place of the former one' }),
    expiresInSeconds: z.int().meta({ description: 'Until the access token ends' }),
    user: meSchema.omit({ via: true, method: true }),
  })
  .meta({ id: 'CliGrant' });

export function createLoginRoutes(
  dependencies: Needs<'clock' | 'cookie' | 'setSessionCookie' | 'signInMethods' | 'unitOfWork', 'loginLinks'>,
): ManagementRoute[] {
  const { clock, cookie, setSessionCookie, signInMethods } = dependencies;
  const shared = { tag: 'Sign-in' } as const;
  const response = { status: 200, schema: meSchema } as const;

  const welcome = async (signedIn: SignedIn, exchange: Exchange): Promise<z.output<typeof meSchema>> => {
    exchange.setHeader('Set-Cookie', await setSessionCookie(exchange.header('cookie'), signedIn));
    return { ...signedIn.user, via: 'session', method: signedIn.method };
  };

  return [
    definePublicRoute('POST /api/login/link', {
      ...shared,
      operation: 'signInByLink',
      summary: "Use up a one-time link's token and open a session",
      limit: 'link_login',
      body: loginLinkSchema,
      response,
      errors: ['UNAUTHENTICATED', 'FORBIDDEN'],
      handle: async ({ body, exchange }) => {
        const signedIn = await signInByLink(dependencies, { ...body, ...clientOf(exchange) }, clock);
        if (signedIn !== undefined) return welcome(signedIn, exchange);
        throw new ApiError('UNAUTHENTICATED', 'This link is not valid any more. Make a new one.');
      },
    }),
    definePublicRoute('POST /api/login', {
      ...shared,
      operation: 'signInByPassword',
      summary: 'Open a session with e-mail and password; 404 where people sign in at an identity provider',
      limit: 'password_login',
      body: passwordLoginSchema,
      response,
      errors: ['UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND', 'UNAVAILABLE'],
      handle: async ({ body, exchange }) => {
        if (signInMethods.kind !== 'password') throw noPasswordsHere();
        const signedIn = await signInMethods.signInByPassword({ ...body, ...clientOf(exchange) });
        if (signedIn !== undefined) return welcome(signedIn, exchange);
        throw new ApiError('UNAUTHENTICATED', 'E-mail or password is wrong.');
      },
    }),
    defineRoute('POST /api/logout', {
      operation: 'logout',
      tag: 'Sign-in',
      summary: "End this request's session; an admin key stays",
      role: 'member',
      whenLocked: 'allowed',
      handle: async ({ actor, transaction, exchange }) => {
        if (actor.via !== 'session') return;
        await transaction((inside) => endSession(inside, actor, actor.credentialId, actor.userId));
        exchange.setHeader('Set-Cookie', cookie.clear());
      },
    }),
  ];
}

const clientOf = (exchange: Exchange): SignInClient => ({
  client: exchange.header('user-agent') ?? '',
  origin: exchange.origin('console'),
});

/** The name of a client that gives none. */
const UNNAMED = 'a command-line client';

/** Sign-in of the command-line client: RFC 8252 (loopback redirect, or a code to paste) with RFC 7636 (PKCE). */
export function createCliLoginRoutes({
  baseUrl,
  clock,
  masterKeys,
  stores,
  unitOfWork,
}: Needs<'baseUrl' | 'clock' | 'masterKeys' | 'unitOfWork', 'cliLogins'>): ManagementRoute[] {
  const shared = { tag: 'Sign-in' } as const;
  return [
    definePublicRoute('POST /api/cli/login/begin', {
      ...shared,
      operation: 'beginCliLogin',
      summary: 'Ask for a sign-in, which a person approves in a browser within ten minutes',
      limit: 'cli_login_begin',
      body: cliLoginRequestSchema,
      response: { status: 200, schema: cliLoginSchema },
      errors: ['FORBIDDEN'],
      handle: ({ body: { codeChallenge, redirectUri, client = UNNAMED }, exchange: { address } }) =>
        beginCliLogin(stores, { codeChallenge, redirectUri, client, address }, { baseUrl, clock }),
    }),
    definePublicRoute('POST /api/cli/login/exchange', {
      ...shared,
      operation: 'exchangeCliCode',
      summary: 'Exchange an approved code for tokens; once, within five minutes, whatever comes of it',
      limit: 'cli_login_exchange',
      body: cliCodeSchema,
      response: { status: 200, schema: cliGrantSchema },
      errors: ['FORBIDDEN', 'UNAUTHENTICATED'],
      handle: async ({ body: { code, codeVerifier, requestId }, exchange }) => {
        const grant = await unitOfWork.runAcross((inside) =>
          exchangeCliCode(
            attributed(inside, exchange.origin('cli')),
            { code, codeVerifier, requestId },
            clock,
          ),
        );
        if (grant !== undefined) return grant;
        throw new ApiError('UNAUTHENTICATED', 'This code is not valid any more. Sign in again.');
      },
    }),
    definePublicRoute('POST /api/cli/login/refresh', {
      ...shared,
      operation: 'refreshCliSession',
      summary: 'Exchange a refresh token for the next pair; a token that was used before ends the session',
      limit: 'cli_login_refresh',
      body: cliRefreshSchema,
      response: { status: 200, schema: cliGrantSchema },
      errors: ['FORBIDDEN', 'UNAUTHENTICATED'],
      handle: async ({ body: { refreshToken }, exchange }) => {
        const grant = await unitOfWork.runAcross((inside) =>
          refreshCliSession(attributed(inside, exchange.origin('cli')), refreshToken, { clock, masterKeys }),
        );
        if (grant !== undefined) return grant;
        throw new ApiError('UNAUTHENTICATED', 'This session has ended. Sign in again.');
      },
    }),
  ];
}
