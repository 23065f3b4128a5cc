import { attributed } from '../core/change.ts';
import type { Origin } from '../core/origin.ts';
import { type Clock, type Id, formatTime, hashKey, newId, parseTime, randomToken } from '@svault/shared';
import { type Actor, eventBy } from '../core/actor.ts';
import type { NewAuditEvent } from '../core/audit-event.ts';
import type { Session, SessionKind, SignInMethod } from '../core/session.ts';
import type { Stores } from '../core/stores.ts';
import type { User } from '../core/user.ts';

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

/** A user's session expires after 8 hours without use, and after 7 days (OWASP ASVS 5, V7: both limits). */
const SIGN_IN_TIMES = { idleMs: 8 * HOUR_MS, lifetimeMs: 7 * DAY_MS };

/** Idle and absolute timeout of each kind. */
export const SESSION_TIMES: Readonly<
  Record<SessionKind, { readonly idleMs: number; readonly lifetimeMs: number }>
> = {
  console: SIGN_IN_TIMES,
  cli: SIGN_IN_TIMES,
  // An agent goes on by itself for weeks; after three months a user consents once more.
  oauth: { idleMs: 30 * DAY_MS, lifetimeMs: 90 * DAY_MS },
};

/** The kinds that a user signs in to. */
export const SIGN_IN_KINDS = ['console', 'cli'] as const satisfies readonly SessionKind[];

const TOKEN_BYTES = 32;
const MAX_CLIENT_CHARACTERS = 200;

/** A browser whose user has just signed in. */
export interface SignedIn {
  /** The cookie's value; only its hash is stored. */
  readonly sessionToken: string;
  readonly user: User;
  readonly method: SignInMethod;
}

/** What signs in: the client's name for itself, and its request. */
export interface SignInClient {
  readonly client: string;
  readonly origin?: Origin | undefined;
}

/** Opens a browser's session, with its event, in the caller's transaction. */
export async function signInBrowser(
  stores: Pick<Stores, 'audit' | 'sessions'>,
  user: User,
  { method, client, origin }: SignInClient & { readonly method: SignInMethod },
  clock: Clock,
): Promise<SignedIn> {
  const sessionToken = randomToken(TOKEN_BYTES);
  const tokenHash = hashKey(sessionToken);
  const opening = { kind: 'console', method, client, tokenHash } as const;
  await openSession(attributed(stores, origin), user, opening, clock);
  return { sessionToken, user, method };
}

interface NewSession {
  readonly kind: SessionKind;
  readonly method: SignInMethod;
  /** What the client calls itself; control characters are dropped, and a long name is cut. */
  readonly client: string;
  /** Of what the client will present. */
  readonly tokenHash: string;
  readonly agentId?: Id<'agt'>;
  readonly clientId?: string;
}

/** Opens a session that a user signs in to, with its event. */
export async function openSession(
  stores: Pick<Stores, 'audit' | 'sessions'>,
  user: User,
  session: NewSession & { readonly kind: (typeof SIGN_IN_KINDS)[number] },
  clock: Clock,
): Promise<Session> {
  const opened = await addSession(stores, user, session, clock);
  const detail = { method: session.method, sessionId: opened.id };
  await stores.audit.append(eventBy(opened, 'LOGIN', { detail }));
  return opened;
}

/** Stores a session of any kind; the caller writes its event. */
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

/** Authenticates a browser's cookie; undefined for one that is unknown or expired. */
export async function resolveSession(
  stores: Pick<Stores, 'sessions'>,
  sessionToken: string,
  clock: Clock,
): Promise<Actor | undefined> {
  const session = await stores.sessions.findByHash('console', hashKey(sessionToken));
  if (session === undefined || !(await useSession(stores, session, clock))) return undefined;
  const { id, vaultId, userId, role } = session;
  return { vaultId, userId, role, via: 'session', credentialId: id };
}

/** Notes the use of a live session, and removes an expired one. @returns whether it is live */
export async function useSession(
  stores: Pick<Stores, 'sessions'>,
  session: Session,
  clock: Clock,
): Promise<boolean> {
  if (await removeIfExpired(stores, session, clock)) return false;
  await noteUse(session.lastUsedAt, clock, (usedAt) => stores.sessions.touch(session.id, usedAt));
  return true;
}

/** Removes an expired session, so that a clock set back does not revive it. @returns whether it has expired */
export async function removeIfExpired(
  stores: Pick<Stores, 'sessions'>,
  { id, vaultId, userId, kind, lastUsedAt, expiresAt }: Session,
  clock: Clock,
): Promise<boolean> {
  const now = clock.now();
  const idleMs = now - (parseTime(lastUsedAt) ?? 0);
  if (expiresAt > formatTime(now) && idleMs < SESSION_TIMES[kind].idleMs) return false;
  // A full disk cannot remove it; it is rejected all the same.
  await stores.sessions.remove(vaultId, id, userId).catch(() => undefined);
  return true;
}

/** The last use is written at most this often. */
const USE_RESOLUTION_MS = 60_000;

/**
 * Notes that a key or session was used now. A failed write is ignored, so that on a full disk an owner can still look at
 * what is wrong.
 * @param lastUsedAt what is stored so far
 */
export async function noteUse(
  lastUsedAt: string | undefined,
  clock: Clock,
  write: (usedAt: string) => Promise<void>,
): Promise<void> {
  const now = clock.now();
  const before = lastUsedAt === undefined ? undefined : parseTime(lastUsedAt);
  if (before !== undefined && now - before < USE_RESOLUTION_MS) return;
  await write(formatTime(now)).catch(() => undefined);
}

/** Ends a session, with its event; of one user only where `onlyOf` says. @returns false where there is none */
export async function endSession(
  stores: Pick<Stores, 'audit' | 'sessions'>,
  actor: Actor,
  id: string,
  onlyOf: Id<'usr'> | undefined,
): Promise<boolean> {
  const session = await stores.sessions.get(actor.vaultId, id as Id<'ses'>);
  if (session === undefined || !(await stores.sessions.remove(actor.vaultId, session.id, onlyOf)))
    return false;
  await stores.audit.append(sessionRevoked(actor, session));
  return true;
}

/** Ends every session of MCP clients that a user consented to, with an event for each. */
export async function endApprovedSessions(
  stores: Pick<Stores, 'audit' | 'oauthCodes' | 'sessions'>,
  actor: Actor,
  userId: Id<'usr'>,
): Promise<void> {
  await stores.oauthCodes.removeOfUser(userId);
  const sessions = await stores.sessions.ofUser(userId, 'oauth');
  if (sessions.length === 0) return;
  await stores.sessions.removeOfUser(userId, { kinds: ['oauth'], but: undefined });
  await stores.audit.appendAll(sessions.map((session) => sessionRevoked(actor, session)));
}

function sessionRevoked(actor: Actor, { id, userId, kind, agentId }: Session): NewAuditEvent {
  const detail = { sessionId: id, memberId: userId };
  const eventType = kind === 'oauth' ? 'OAUTH_SESSION_REVOKED' : 'SESSION_REVOKED';
  return eventBy(actor, eventType, { agentId, detail });
}
