import { SESSION_TIMES, type Sessions, type SignedIn, endSession } from '../../sign-in/sessions.ts';
import type { UnitOfWork } from '../../core/stores.ts';
import { type SessionCookie, readCookie } from '../http/cookies.ts';

/**
 * Hands a browser that has just signed in its new session, and ends the one that it had (OWASP ASVS 5, V7.2.4): its
 * cookie is replaced, and nobody could sign it out any more.
 *
 * @param cookies the `Cookie` header as received
 * @returns the `Set-Cookie` line of the new session
 */
export type SetSessionCookie = (cookies: string | undefined, signedIn: SignedIn) => Promise<string>;

export function createSetSessionCookie({
  sessions,
  unitOfWork,
  cookie,
}: {
  readonly sessions: Pick<Sessions, 'resolve'>;
  readonly unitOfWork: UnitOfWork;
  readonly cookie: SessionCookie;
}): SetSessionCookie {
  const endFormer = async (cookies: string | undefined): Promise<void> => {
    const token = readCookie(cookies, cookie.name);
    const actor = token === undefined ? undefined : await sessions.resolve(token);
    if (actor === undefined) return;
    const { vaultId, credentialId, userId } = actor;
    await unitOfWork.run(vaultId, (inside) => endSession(inside, actor, credentialId, userId));
  };
  return async (cookies, { sessionToken }) => {
    await endFormer(cookies);
    return cookie.set(sessionToken, SESSION_TIMES.console.lifetimeMs / 1_000);
  };
}
