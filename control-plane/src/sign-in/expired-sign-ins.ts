import { type Clock, formatTime } from '@svault/shared';
import { SESSION_KINDS } from '../core/session.ts';
import type { Stores } from '../core/stores.ts';
import { SESSION_TIMES } from './sessions.ts';

/** Deletes expired sessions, tokens, codes, logins and links: tables stay small, and a clock set back revives none. */
export async function evictExpiredSignIns(stores: Stores, clock: Clock): Promise<void> {
  const nowMs = clock.now();
  const now = formatTime(nowMs);
  await stores.sessions.removeExpired(now);
  for (const kind of SESSION_KINDS)
    await stores.sessions.removeIdle(kind, formatTime(nowMs - SESSION_TIMES[kind].idleMs));
  await stores.cliSessions.evictExpiredAccess(now);
  await stores.oauthSessions.evictExpiredAccess(now);
  await stores.oauthCodes.removeExpired(now);
  await stores.cliLogins.removeExpired(now);
  await stores.loginLinks.removeExpired(now);
}
