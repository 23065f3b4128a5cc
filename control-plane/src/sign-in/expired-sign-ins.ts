import { type Clock, formatTime } from '@svault/shared';
import type { Stores } from '../core/stores.ts';
import { SESSION_KINDS } from '../core/session.ts';
import { SESSION_TIMES } from './sessions.ts';

/**
 * Deletes sessions, sign-in links, and sign-ins and codes on their way whose time is over, so that their tables stay small, and so
 * that none of them lives again should the clock be set back later.
 */
export async function forgetEndedSignIns(
  stores: Pick<
    Stores,
    'cliLogins' | 'cliSessions' | 'loginLinks' | 'oauthCodes' | 'oauthSessions' | 'sessions'
  >,
  clock: Clock,
): Promise<void> {
  const now = clock.now();
  await stores.sessions.removeExpired(formatTime(now));
  for (const kind of SESSION_KINDS)
    await stores.sessions.removeIdle(kind, formatTime(now - SESSION_TIMES[kind].idleMs));
  await stores.cliSessions.forgetEndedAccess(formatTime(now));
  await stores.oauthSessions.forgetEndedAccess(formatTime(now));
  await stores.oauthCodes.removeExpired(formatTime(now));
  await stores.cliLogins.removeExpired(formatTime(now));
  await stores.loginLinks.removeExpired(formatTime(now));
}
