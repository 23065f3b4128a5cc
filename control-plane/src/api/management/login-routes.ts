import type { Clock } from '@svault/shared';
import { signInByLink } from '../../sign-in/login-link.ts';
import { type SignedIn, endSession } from '../../sign-in/sessions.ts';
import type { SignInByPassword } from '../../sign-in/sign-in-by-password.ts';
import { noPasswordsHere } from '../../sign-in/methods.ts';
import { refusal } from '../../core/errors.ts';
import type { SessionCookie } from '../http/cookies.ts';
import { type Exchange, type ManagementRoute, definePublicRoute, defineRoute } from './route-definition.ts';
import type { SetSessionCookie } from '../pages/set-session-cookie.ts';
import type { Stores, UnitOfWork } from '../../core/stores.ts';
import { loginLinkSchema, meSchema, toSignedInView } from './schemas/account.ts';
import { passwordLoginSchema } from './schemas/sign-in.ts';

export function createLoginRoutes(options: {
  readonly clock: Clock;
  readonly cookie: SessionCookie;
  readonly setSessionCookie: SetSessionCookie;
  readonly stores: Pick<Stores, 'loginLinks'>;
  readonly unitOfWork: UnitOfWork;
  /** Undefined where people sign in at an identity provider. */
  readonly signInByPassword: SignInByPassword | undefined;
}): readonly ManagementRoute[] {
  const { clock, cookie, setSessionCookie, stores, unitOfWork, signInByPassword } = options;
  const shared = { method: 'post', tag: 'Sign-in', audit: ['LOGIN', 'SESSION_REVOKED'] } as const;
  const answer = { status: 200, schema: meSchema } as const;

  const welcome = async (
    signedIn: SignedIn,
    exchange: Exchange,
  ): Promise<ReturnType<typeof toSignedInView>> => {
    exchange.setHeader('Set-Cookie', await setSessionCookie(exchange.header('cookie'), signedIn));
    return toSignedInView(signedIn);
  };

  return [
    definePublicRoute({
      ...shared,
      path: '/api/login/link',
      operation: 'signInByLink',
      summary: "Use up a one-time link's token and open a session",
      limit: 'link_login',
      body: loginLinkSchema,
      answer,
      refusals: ['UNAUTHENTICATED', 'FORBIDDEN'],
      handle: async ({ body, exchange }) => {
        const input = { token: body.token, client: clientOf(exchange) };
        const signedIn = await signInByLink({ stores, unitOfWork }, input, clock);
        if (signedIn !== undefined) return welcome(signedIn, exchange);
        throw refusal('UNAUTHENTICATED', 'This link is not valid any more. Make a new one.');
      },
    }),
    definePublicRoute({
      ...shared,
      path: '/api/login',
      operation: 'signInByPassword',
      summary: 'Open a session with e-mail and password; 404 where people sign in at an identity provider',
      limit: 'password_login',
      body: passwordLoginSchema,
      answer,
      refusals: ['UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND', 'UNAVAILABLE'],
      handle: async ({ body, exchange }) => {
        if (signInByPassword === undefined) throw noPasswordsHere();
        const signedIn = await signInByPassword({ ...body, client: clientOf(exchange) });
        if (signedIn !== undefined) return welcome(signedIn, exchange);
        throw refusal('UNAUTHENTICATED', 'E-mail or password is wrong.');
      },
    }),
    defineRoute({
      method: 'post',
      path: '/api/logout',
      operation: 'logout',
      tag: 'Sign-in',
      summary: "End this request's session; an admin key stays",
      role: 'member',
      whenLocked: 'answers',
      audit: ['SESSION_REVOKED'],
      answer: { status: 204 },
      handle: async ({ actor, transaction, exchange }) => {
        if (actor.via !== 'session') return;
        await transaction((inside) => endSession(inside, actor, actor.credentialId, actor.userId));
        exchange.setHeader('Set-Cookie', cookie.clear());
      },
    }),
  ];
}

const clientOf = (exchange: Exchange): string => exchange.header('user-agent') ?? '';
