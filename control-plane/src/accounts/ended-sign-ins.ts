import { type Clock, formatTime } from '@svault/shared';
import type { Stores } from '../unit-of-work.ts';
import { SESSION_IDLE_MS } from './sessions.ts';

/**
 * Deletes sessions, sign-in links and sign-ins on their way whose time is over, so that their tables stay small, and so that none of them lives
 * again should the clock be set back later.
 */
export async function forgetEndedSignIns(
  stores: Pick<Stores, 'cliLogins' | 'cliSessions' | 'loginLinks' | 'sessions'>,
  clock: Clock,
): Promise<void> {
  const now = clock.now();
  await stores.sessions.removeEnded({
    expiresAt: formatTime(now),
    lastUsedAt: formatTime(now - SESSION_IDLE_MS),
  });
  await stores.cliSessions.forgetEndedAccess(formatTime(now));
  await stores.cliLogins.removeExpired(formatTime(now));
  await stores.loginLinks.removeExpired(formatTime(now));
}
