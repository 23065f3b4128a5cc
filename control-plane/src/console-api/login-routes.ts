import type { Clock, Id } from '@svault/shared';
import { signInByLink } from '../accounts/login-link.ts';
import { SESSION_LIFETIME_MS } from '../accounts/sessions.ts';
import { refusal } from '../errors.ts';
import type { SessionCookie } from '../http/cookies.ts';
import { type ManagementRoute, definePublicRoute, defineRoute } from '../http/route-definition.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { loginLinkSchema, meSchema } from './schemas/account.ts';

export function createLoginRoutes({
  clock,
  cookie,
  unitOfWork,
}: {
  readonly clock: Clock;
  readonly cookie: SessionCookie;
  readonly unitOfWork: UnitOfWork;
}): readonly ManagementRoute[] {
  return [
    definePublicRoute({
      method: 'post',
      path: '/api/login/link',
      operation: 'signInByLink',
      tag: 'Sign-in',
      summary: "Use up a one-time link's token and open a session",
      audit: ['LOGIN'],
      body: loginLinkSchema,
      answer: { status: 200, schema: meSchema },
      refusals: ['UNAUTHENTICATED', 'FORBIDDEN'],
      handle: async ({ body, exchange }) => {
        const input = { token: body.token, client: exchange.header('user-agent') ?? '' };
        const signedIn = await unitOfWork.runAcross((stores) => signInByLink(stores, input, clock));
        if (signedIn === undefined)
          throw refusal('UNAUTHENTICATED', 'This link is not valid any more. Make a new one.');
        const { sessionToken, user } = signedIn;
        exchange.setHeader('Set-Cookie', cookie.set(sessionToken, SESSION_LIFETIME_MS / 1_000));
        return { ...user, via: 'session' as const };
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
      audit: [],
      answer: { status: 204 },
      handle: async ({ actor, change, exchange }) => {
        if (actor.via !== 'session') return;
        const id = actor.credentialId as Id<'ses'>;
        await change((inside) => inside.sessions.remove(actor.vaultId, id, actor.userId));
        exchange.setHeader('Set-Cookie', cookie.clear());
      },
    }),
  ];
}
