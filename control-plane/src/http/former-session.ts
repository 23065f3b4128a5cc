import { type Sessions, endSession } from '../accounts/sessions.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { readCookie } from './cookies.ts';

/**
 * Ends the session that a browser had before it signed in anew (OWASP ASVS 5, V7.2.4): its cookie is replaced, and nobody
 * could sign it out any more.
 *
 * @param cookies the `Cookie` header as received
 */
export type EndFormerSession = (cookies: string | undefined) => Promise<void>;

export function createEndFormerSession({
  sessions,
  unitOfWork,
  cookieName,
}: {
  readonly sessions: Pick<Sessions, 'resolve'>;
  readonly unitOfWork: UnitOfWork;
  readonly cookieName: string;
}): EndFormerSession {
  return async (cookies) => {
    const token = readCookie(cookies, cookieName);
    const actor = token === undefined ? undefined : await sessions.resolve(token);
    if (actor === undefined) return;
    const { vaultId, credentialId, userId } = actor;
    await unitOfWork.run(vaultId, (inside) => endSession(inside, actor, credentialId, userId));
  };
}
