import { type Clock, type Id, formatTime, hashKey, newId, parseTime, randomToken } from '@svault/shared';
import type { NewAuditEvent } from '../core/audit-event.ts';
import type { Stores } from '../core/stores.ts';
import { type Actor, changeBy } from '../core/actor.ts';
import { noteUse } from './last-use.ts';
import type { Session, SessionKind, SignInMethod } from '../core/session.ts';
import type { User } from '../core/user.ts';

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

/** A person's: unused for 8 hours, and after 7 days however busy (OWASP ASVS 5, V7: both limits). */
const SIGN_IN_TIMES = { idleMs: 8 * HOUR_MS, lifetimeMs: 7 * DAY_MS };

/** When a session ends that nobody used, and when it ends however busy. */
export const SESSION_TIMES: Readonly<
  Record<SessionKind, { readonly idleMs: number; readonly lifetimeMs: number }>
> = {
  console: SIGN_IN_TIMES,
  cli: SIGN_IN_TIMES,
  // An agent goes on by itself for weeks; after three months a person looks at it once more.
  oauth: { idleMs: 30 * DAY_MS, lifetimeMs: 90 * DAY_MS },
};

/** The kinds that people sign in to themselves. */
export const SIGN_IN_KINDS = ['console', 'cli'] as const satisfies readonly SessionKind[];

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

/** What there is to say of a session that is to be opened. */
interface NewSession {
  readonly kind: SessionKind;
  readonly method: SignInMethod;
  /** What the client calls itself; what does not show in it is dropped, as is the rest of a long one. */
  readonly client: string;
  /** Of what the client will show. */
  readonly tokenHash: string;
  readonly agentId?: Id<'agt'>;
  readonly clientId?: string;
}

/** Opens a session that a person signs in to, with its event. */
export async function openSession(
  stores: Pick<Stores, 'audit' | 'sessions'>,
  user: User,
  session: NewSession & { readonly kind: (typeof SIGN_IN_KINDS)[number] },
  clock: Clock,
): Promise<Session> {
  const opened = await addSession(stores, user, session, clock);
  await stores.audit.append({
    vaultId: user.vaultId,
    userId: user.id,
    eventType: 'LOGIN',
    outcome: 'success',
    detail: { method: session.method, sessionId: opened.id },
  });
  return opened;
}

/** Keeps a session of any kind; its event is the caller's to write. */
export async function addSession(
  stores: Pick<Stores, 'sessions'>,
  user: User,
  { kind, method, client, tokenHash, agentId, clientId }: NewSession,
  clock: Clock,
): Promise<Session> {
  const now = clock.now();
  const opened: Session = {
    id: newId('ses'),
    vaultId: user.vaultId,
    userId: user.id,
    agentId,
    clientId,
    kind,
    method,
    client: client.replaceAll(/\p{C}/gu, '').slice(0, MAX_CLIENT_CHARACTERS),
    createdAt: formatTime(now),
    lastUsedAt: formatTime(now),
    expiresAt: formatTime(now + SESSION_TIMES[kind].lifetimeMs),
  };
  await stores.sessions.add({ ...opened, tokenHash });
  return opened;
}

/** Whether a session goes on; one that is over is forgotten. Of one that goes on, the use is noted. */
export async function useSession(
  stores: Pick<Stores, 'sessions'>,
  session: Session,
  clock: Clock,
): Promise<boolean> {
  if (await forgetIfOver(stores, session, clock)) return false;
  await noteUse(session.lastUsedAt, clock, (usedAt) => stores.sessions.touch(session.id, usedAt));
  return true;
}

/** Whether a session is over; it is forgotten then, so that it does not live again should the clock be set back (R5). */
export async function forgetIfOver(
  stores: Pick<Stores, 'sessions'>,
  { id, vaultId, userId, kind, lastUsedAt, expiresAt }: Session,
  clock: Clock,
): Promise<boolean> {
  const now = clock.now();
  const idleMs = now - (parseTime(lastUsedAt) ?? 0);
  if (expiresAt > formatTime(now) && idleMs < SESSION_TIMES[kind].idleMs) return false;
  // On a full disk it is refused only.
  await stores.sessions.remove(vaultId, id, userId).catch(() => undefined);
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
  await stores.audit.append(endOfSession(actor, session));
  return true;
}

/** Ends all that a person let MCP clients do, with an event for each. */
export async function endApprovedSessions(
  stores: Pick<Stores, 'audit' | 'oauthCodes' | 'sessions'>,
  actor: Actor,
  userId: Id<'usr'>,
): Promise<void> {
  await stores.oauthCodes.removeOfUser(userId);
  const sessions = await stores.sessions.ofUser(userId, 'oauth');
  if (sessions.length === 0) return;
  await stores.sessions.removeOfUser(userId, { kinds: ['oauth'], but: undefined });
  await stores.audit.appendAll(sessions.map((session) => endOfSession(actor, session)));
}

function endOfSession(actor: Actor, { id, userId, kind, agentId }: Session): NewAuditEvent {
  const detail = { sessionId: id, memberId: userId };
  const eventType = kind === 'oauth' ? 'OAUTH_SESSION_REVOKED' : 'SESSION_REVOKED';
  return changeBy(actor, eventType, { agentId, detail });
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
