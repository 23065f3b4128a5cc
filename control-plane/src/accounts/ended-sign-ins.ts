import { type Clock, formatTime } from '@svault/shared';
import type { Stores } from '../unit-of-work.ts';
import { SESSION_KINDS } from './session-store.ts';
import { SESSION_TIMES } from './sessions.ts';

/**
 * Anybody may begin a sign-in of a command line, up to a limit per address; who has addresses without end must fill no
 * disk by it. The latest are kept, about 50 MB of them: a person needs a minute.
 */
const MOST_WAITING_CLI_LOGINS = 100_000;

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
  mostWaiting = MOST_WAITING_CLI_LOGINS,
): Promise<void> {
  const now = clock.now();
  await stores.sessions.removeExpired(formatTime(now));
  for (const kind of SESSION_KINDS)
    await stores.sessions.removeIdle(kind, formatTime(now - SESSION_TIMES[kind].idleMs));
  await stores.cliSessions.forgetEndedAccess(formatTime(now));
  await stores.oauthSessions.forgetEndedAccess(formatTime(now));
  await stores.oauthCodes.removeExpired(formatTime(now));
  await stores.cliLogins.removeExpired(formatTime(now));
  await stores.cliLogins.keepLatest(mostWaiting, formatTime(now));
  await stores.loginLinks.removeExpired(formatTime(now));
}
