import type { Id } from '@svault/shared';
import type { Role } from './actor.ts';
import type { Page, PageRequest } from './paging.ts';

/** A browser, the command-line client, or an MCP client that acts as an agent. */
export const SESSION_KINDS = ['console', 'cli', 'oauth'] as const;
export type SessionKind = (typeof SESSION_KINDS)[number];

/** The ways to sign in; `oauth` signs nobody in but lets a client act as an agent. */
export const SIGN_IN_METHODS = ['link', 'password', 'oidc', 'cli', 'oauth'] as const;
export type SignInMethod = (typeof SIGN_IN_METHODS)[number];

/** A signed-in browser or command-line client, or an agent's MCP client. What it shows is kept as a hash only. */
export interface Session {
  readonly id: Id<'ses'>;
  readonly vaultId: Id<'vlt'>;
  /** Who signed in, or approved it. */
  readonly userId: Id<'usr'>;
  /** Whom an MCP client acts as; undefined for the other kinds. */
  readonly agentId: Id<'agt'> | undefined;
  /** What an MCP client is registered as, or the address that describes it, or a proxy; undefined for the other kinds. */
  readonly clientId: string | undefined;
  readonly kind: SessionKind;
  readonly method: SignInMethod;
  /** What the client called itself, so that an owner recognises it; shown, never trusted. */
  readonly client: string;
  readonly createdAt: string;
  readonly lastUsedAt: string;
  /** The absolute end; the idle end follows from `lastUsedAt`. */
  readonly expiresAt: string;
}

/** Nothing here finds a session whose user was removed. */
export interface SessionStore {
  /** What an MCP client acts as is kept beside it (`OauthSessionStore`). */
  add(session: Session & { readonly tokenHash: string }): Promise<void>;
  findByHash(kind: SessionKind, tokenHash: string): Promise<(Session & { readonly role: Role }) | undefined>;
  get(vaultId: Id<'vlt'>, id: Id<'ses'>): Promise<Session | undefined>;
  /** Of the session's user; undefined where there is no such session. */
  roleOf(vaultId: Id<'vlt'>, id: Id<'ses'>): Promise<Role | undefined>;
  /** Oldest first. @param userId only this user's */
  list(vaultId: Id<'vlt'>, userId: Id<'usr'> | undefined, page: PageRequest): Promise<Page<Session>>;
  /** @returns whether there was one. @param userId only when it is this user's */
  remove(vaultId: Id<'vlt'>, id: Id<'ses'>, userId: Id<'usr'> | undefined): Promise<boolean>;
  /** All of a kind that a user signed in to or approved. */
  ofUser(userId: Id<'usr'>, kind: SessionKind): Promise<readonly Session[]>;
  /** Ends every session of a user, of the kinds given, but for one. */
  removeOfUser(
    userId: Id<'usr'>,
    which: { readonly kinds: readonly SessionKind[]; readonly but: Id<'ses'> | undefined },
  ): Promise<void>;
  touch(id: Id<'ses'>, usedAt: string): Promise<void>;
  /** Forgets those whose end is past. */
  removeExpired(now: string): Promise<void>;
  /** Forgets those of a kind that nobody used since a time. */
  removeIdle(kind: SessionKind, since: string): Promise<void>;
}

/** What is kept of the refresh token before the present one. */
export interface PreviousRefreshToken {
  readonly refreshHash: string;
  readonly rotatedAt: string;
  /** What the present pair was made of beside the token, wrapped. */
  readonly wrappedSeed: string;
}

/** A pair of keys, as it is kept. */
export interface KeptKeys {
  readonly refreshHash: string;
  /** Undefined once it has ended. */
  readonly accessHash: string | undefined;
  readonly accessExpiresAt: string;
}

/** What a refresh left behind. */
export interface PreviousKeys extends PreviousRefreshToken {
  readonly accessHash: string | undefined;
  readonly accessExpiresAt: string | undefined;
}

export interface CliSession {
  readonly session: Session;
  readonly role: Role;
  readonly keys: KeptKeys;
  /** Undefined before the first refresh. */
  readonly previous: PreviousKeys | undefined;
}

/** The keys of command-line sessions; they go with their session. */
export interface CliSessionStore {
  add(sessionId: Id<'ses'>, keys: KeptKeys): Promise<void>;
  /** Finds no session whose user was removed. @param familyHash the session's token hash */
  find(familyHash: string): Promise<CliSession | undefined>;
  /** Puts the next pair in the place of the present one; within a transaction that holds the account. */
  rotate(sessionId: Id<'ses'>, next: KeptKeys, previous: PreviousKeys): Promise<void>;
  /** Forgets access tokens whose time is over. */
  evictExpiredAccess(now: string): Promise<void>;
}
