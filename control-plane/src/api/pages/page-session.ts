import type { IncomingMessage } from 'node:http';
import type { Clock } from '@svault/shared';
import type { Actor } from '../../core/actor.ts';
import type { OriginReader } from '../http/request-origin.ts';
import { ApiError } from '../../core/errors.ts';
import type { Stores, Transaction, UnitOfWork } from '../../core/stores.ts';
import { transactionAs } from '../../sign-in/current-actor.ts';
import { SESSION_TIMES, type SignedIn, endSession, resolveSession } from '../../sign-in/sessions.ts';
import { type SessionCookie, readCookie } from '../http/cookies.ts';
import { isSameOrigin, crossOriginError } from '../http/origin-check.ts';

/** Checks of requests that a browser sends to our pages. */
export interface PageSession {
  /** The signed-in user; keys of any kind are ignored. */
  actor(req: IncomingMessage): Promise<Actor | undefined>;
  /** The e-mail address of the signed-in user, which pages show. */
  emailOf(actor: Actor): Promise<string>;
  /** @throws ApiError FORBIDDEN for a form that another site's page sent */
  requireSameOrigin(req: IncomingMessage): void;
  /** A transaction for a form's change, if the actor may still make it ({@link transactionAs}). */
  transactionAs(actor: Actor, whenLocked: 'allowed' | 'denied'): Transaction;
}

export function createPageSession(options: {
  readonly stores: Pick<Stores, 'sessions' | 'users'>;
  readonly unitOfWork: UnitOfWork;
  readonly cookieName: string;
  readonly ownOrigin: string;
  readonly originOf: OriginReader;
  readonly clock: Clock;
}): PageSession {
  const { stores, unitOfWork, cookieName, ownOrigin, originOf, clock } = options;
  return {
    actor: async (req) => {
      const token = readCookie(req.headers.cookie, cookieName);
      const actor = token === undefined ? undefined : await resolveSession(stores, token, clock);
      return actor && { ...actor, origin: originOf(req, 'console', actor.credentialId) };
    },
    emailOf: async ({ vaultId, userId }) => (await stores.users.get(vaultId, userId))?.email ?? userId,
    requireSameOrigin: ({ headers }) => {
      const header = (name: string): string | undefined => {
        const value = headers[name];
        return Array.isArray(value) ? undefined : value;
      };
      if (!isSameOrigin(header, ownOrigin)) throw crossOriginError();
    },
    transactionAs: (actor, whenLocked) => transactionAs(actor, { unitOfWork, whenLocked, gone: signedOut }),
  };
}

function signedOut(): never {
  throw new ApiError('UNAUTHENTICATED', 'You are not signed in any more.');
}

/**
 * Hands a browser that has just signed in its new session, and ends the one that it had (OWASP ASVS 5, V7.2.4): its
 * cookie is replaced, and it could not be signed out any more.
 * @param cookies the `Cookie` header as received
 * @returns the `Set-Cookie` line of the new session
 */
export type SetSessionCookie = (cookies: string | undefined, signedIn: SignedIn) => Promise<string>;

export function createSetSessionCookie({
  stores,
  unitOfWork,
  cookie,
  clock,
}: {
  readonly stores: Pick<Stores, 'sessions'>;
  readonly unitOfWork: UnitOfWork;
  readonly cookie: SessionCookie;
  readonly clock: Clock;
}): SetSessionCookie {
  const endPrevious = async (cookies: string | undefined): Promise<void> => {
    const token = readCookie(cookies, cookie.name);
    const actor = token === undefined ? undefined : await resolveSession(stores, token, clock);
    if (actor === undefined) return;
    const { vaultId, credentialId, userId } = actor;
    await unitOfWork.run(vaultId, (inside) => endSession(inside, actor, credentialId, userId));
  };
  return async (cookies, { sessionToken }) => {
    await endPrevious(cookies);
    return cookie.set(sessionToken, SESSION_TIMES.console.lifetimeMs / 1_000);
  };
}
