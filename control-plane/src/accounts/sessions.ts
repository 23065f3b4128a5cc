import { type Clock, type Id, formatTime, hashKey, newId, parseTime, randomToken } from '@svault/shared';
import type { Stores } from '../unit-of-work.ts';
import { type Actor, changeBy } from './actor.ts';
import { noteUse } from './last-use.ts';
import type { Session, SessionKind, SignInMethod } from './session-store.ts';
import type { User } from './user-store.ts';

/** A session that nobody used for this long has ended. */
export const SESSION_IDLE_MS = 8 * 60 * 60_000;
/** A session ends after this, however busy (OWASP ASVS 5, V7: both limits). */
export const SESSION_LIFETIME_MS = 7 * 24 * 60 * 60_000;

const TOKEN_BYTES = 32;
const MAX_CLIENT_CHARACTERS = 200;

/** A browser that has just proved who sits before it. */
export interface SignedIn {
  /** The cookie's value; only its hash is kept. */
  readonly sessionToken: string;
  readonly user: User;
  readonly method: SignInMethod;
}

/** Opens a browser's session and writes the sign-in down, in the caller's transaction. */
export async function signInBrowser(
  stores: Pick<Stores, 'audit' | 'sessions'>,
  user: User,
  { method, client }: { readonly method: SignInMethod; readonly client: string },
  clock: Clock,
): Promise<SignedIn> {
  const sessionToken = randomToken(TOKEN_BYTES);
  const tokenHash = hashKey(sessionToken);
  await openSession(stores, user, { kind: 'console', method, client, tokenHash }, clock);
  return { sessionToken, user, method };
}

/**
 * Opens a session of either kind, with its event.
 *
 * @param session.client what the client calls itself; what does not show in it is dropped, as is the rest of a long one
 * @param session.tokenHash of what the client will show
 */
export async function openSession(
  stores: Pick<Stores, 'audit' | 'sessions'>,
  user: User,
  session: {
    readonly kind: SessionKind;
    readonly method: SignInMethod;
    readonly client: string;
    readonly tokenHash: string;
  },
  clock: Clock,
): Promise<Session> {
  const { kind, method, client, tokenHash } = session;
  const now = clock.now();
  const opened: Session = {
    id: newId('ses'),
    vaultId: user.vaultId,
    userId: user.id,
    kind,
    method,
    client: client.replaceAll(/\p{C}/gu, '').slice(0, MAX_CLIENT_CHARACTERS),
    createdAt: formatTime(now),
    lastUsedAt: formatTime(now),
    expiresAt: formatTime(now + SESSION_LIFETIME_MS),
  };
  await stores.sessions.add({ ...opened, tokenHash });
  await stores.audit.append({
    vaultId: user.vaultId,
    userId: user.id,
    eventType: 'LOGIN',
    outcome: 'success',
    detail: { method, sessionId: opened.id },
  });
  return opened;
}

/** Whether a session goes on; one that is over is forgotten. Of one that goes on, the use is noted. */
export async function useSession(
  stores: Pick<Stores, 'sessions'>,
  { id, vaultId, userId, lastUsedAt, expiresAt }: Session,
  clock: Clock,
): Promise<boolean> {
  const now = clock.now();
  const idleMs = now - (parseTime(lastUsedAt) ?? 0);
  if (expiresAt <= formatTime(now) || idleMs >= SESSION_IDLE_MS) {
    // Forgotten, so that it does not live again should the clock be set back (R5); on a full disk, refused only.
    await stores.sessions.remove(vaultId, id, userId).catch(() => undefined);
    return false;
  }
  await noteUse(lastUsedAt, clock, (usedAt) => stores.sessions.touch(id, usedAt));
  return true;
}

/**
 * Ends a session at once; the event says whose it was.
 *
 * @param onlyOf ends it only where it is this user's
 * @returns false, with nothing written, where there is none
 */
export async function endSession(
  stores: Pick<Stores, 'audit' | 'sessions'>,
  actor: Actor,
  id: string,
  onlyOf: Id<'usr'> | undefined,
): Promise<boolean> {
  const session = await stores.sessions.get(actor.vaultId, id as Id<'ses'>);
  if (session === undefined || !(await stores.sessions.remove(actor.vaultId, session.id, onlyOf)))
    return false;
  const detail = { sessionId: session.id, memberId: session.userId };
  await stores.audit.append(changeBy(actor, 'SESSION_REVOKED', { detail }));
  return true;
}

export interface Sessions {
  /** Who a cookie's value stands for; undefined for one that is unknown, ended or idle for too long. */
  resolve(sessionToken: string): Promise<Actor | undefined>;
}

export function createSessions(stores: Pick<Stores, 'sessions'>, clock: Clock): Sessions {
  return {
    resolve: async (sessionToken) => {
      const session = await stores.sessions.findByHash('console', hashKey(sessionToken));
      if (session === undefined || !(await useSession(stores, session, clock))) return undefined;
      const { id, vaultId, userId, role } = session;
      return { vaultId, userId, role, via: 'session', credentialId: id };
    },
  };
}
