import { type Clock, type Id, formatTime, hashKey, newId, parseTime, randomToken } from '@svault/shared';
import type { Stores } from '../unit-of-work.ts';
import type { Actor } from './actor.ts';
import { noteUse } from './last-use.ts';
import type { User } from './user-store.ts';

/** A session that nobody used for this long has ended. */
export const SESSION_IDLE_MS = 8 * 60 * 60_000;
/** A session ends after this, however busy (OWASP ASVS 5, V7: both limits). */
export const SESSION_LIFETIME_MS = 7 * 24 * 60 * 60_000;

const TOKEN_BYTES = 32;
const MAX_CLIENT_CHARACTERS = 200;

/** @returns the cookie's value; only its hash is kept */
export async function openSession(
  stores: Pick<Stores, 'sessions'>,
  user: User,
  client: string,
  clock: Clock,
): Promise<{ readonly sessionId: Id<'ses'>; readonly sessionToken: string }> {
  const now = clock.now();
  const sessionToken = randomToken(TOKEN_BYTES);
  const sessionId = newId('ses');
  await stores.sessions.add({
    id: sessionId,
    vaultId: user.vaultId,
    userId: user.id,
    kind: 'console',
    tokenHash: hashKey(sessionToken),
    client: client.slice(0, MAX_CLIENT_CHARACTERS),
    createdAt: formatTime(now),
    lastUsedAt: formatTime(now),
    expiresAt: formatTime(now + SESSION_LIFETIME_MS),
  });
  return { sessionId, sessionToken };
}

export interface Sessions {
  /** Who a cookie's value stands for; undefined for one that is unknown, ended or idle for too long. */
  resolve(sessionToken: string): Promise<Actor | undefined>;
}

export function createSessions(stores: Pick<Stores, 'sessions'>, clock: Clock): Sessions {
  return {
    resolve: async (sessionToken) => {
      const session = await stores.sessions.findByHash(hashKey(sessionToken));
      if (session === undefined) return undefined;
      const now = clock.now();
      const idleMs = now - (parseTime(session.lastUsedAt) ?? 0);
      const { id, vaultId, userId, role } = session;
      if (session.expiresAt <= formatTime(now) || idleMs >= SESSION_IDLE_MS) {
        // Forgotten, so that it does not live again should the clock be set back (R5); on a full disk, refused only.
        await stores.sessions.remove(vaultId, id, userId).catch(() => undefined);
        return undefined;
      }
      await noteUse(session.lastUsedAt, clock, (usedAt) => stores.sessions.touch(id, usedAt));
      return { vaultId, userId, role, via: 'session', credentialId: id };
    },
  };
}
