import { type Clock, formatTime } from '@svault/shared';
import type { Stores } from '../unit-of-work.ts';
import { SESSION_IDLE_MS } from './sessions.ts';

/**
 * Deletes sessions and sign-in links whose time is over, so that their tables stay small, and so that none of them lives
 * again should the clock be set back later.
 */
export async function forgetEndedSignIns(
  stores: Pick<Stores, 'loginLinks' | 'sessions'>,
  clock: Clock,
): Promise<void> {
  const now = clock.now();
  await stores.sessions.removeEnded({
    expiresAt: formatTime(now),
    lastUsedAt: formatTime(now - SESSION_IDLE_MS),
  });
  await stores.loginLinks.removeExpired(formatTime(now));
}
