import type { Id } from '@svault/shared';
import type { Role } from './actor.ts';
import type { Page, PageRequest } from './paging.ts';

/** A browser, the command-line client, or an MCP client that acts as an agent. */
export const SESSION_KINDS = ['console', 'cli', 'oauth'] as const;
export type SessionKind = (typeof SESSION_KINDS)[number];

/** `oauth` signs no user in: it lets a client act as an agent. */
export const SIGN_IN_METHODS = ['link', 'password', 'oidc', 'cli', 'oauth'] as const;
export type SignInMethod = (typeof SIGN_IN_METHODS)[number];

/** A signed-in browser or command-line client, or an agent's MCP client. Its token is stored as a hash only. */
export interface Session {
  readonly id: Id<'ses'>;
  readonly vaultId: Id<'vlt'>;
  /** The user who signed in or approved it. */
  readonly userId: Id<'usr'>;
  /** The agent that an MCP client acts as; undefined for the other kinds. */
  readonly agentId: Id<'agt'> | undefined;
  /** `ocl_…` of an MCP client, the URL of its metadata document, or a proxy; undefined for the other kinds. */
  readonly clientId: string | undefined;
  readonly kind: SessionKind;
  readonly method: SignInMethod;
  /** The client's name for itself; shown, never trusted. */
  readonly client: string;
  readonly createdAt: string;
  readonly lastUsedAt: string;
  /** The absolute expiry; the idle expiry follows from `lastUsedAt`. */
  readonly expiresAt: string;
}

/** No method finds a session of a removed user. */
/** A session with the names of whom it belongs to. */
export interface NamedSession extends Session {
  /** Of the user. */
  readonly email: string;
  /** Of the agent that an MCP client acts as. */
  readonly agentName: string | undefined;
}

export interface SessionStore {
  /** `OauthSessionStore` has the rest of an MCP client's session. */
  add(session: Session & { readonly tokenHash: string }): Promise<void>;
  findByHash(kind: SessionKind, tokenHash: string): Promise<(Session & { readonly role: Role }) | undefined>;
  get(vaultId: Id<'vlt'>, id: Id<'ses'>): Promise<Session | undefined>;
  /** The user's role; undefined where there is no such session. */
  roleOf(vaultId: Id<'vlt'>, id: Id<'ses'>): Promise<Role | undefined>;
  /** Oldest first. @param of.userId only this user's @param of.agentId only those that act as this agent */
  list(
    vaultId: Id<'vlt'>,
    of: { readonly userId?: Id<'usr'> | undefined; readonly agentId?: Id<'agt'> | undefined },
    page: PageRequest,
  ): Promise<Page<NamedSession>>;
  /** @param userId only a session of this user. @returns whether there was one */
  remove(vaultId: Id<'vlt'>, id: Id<'ses'>, userId: Id<'usr'> | undefined): Promise<boolean>;
  /** Sessions of a kind that a user signed in to or approved. */
  ofUser(userId: Id<'usr'>, kind: SessionKind): Promise<readonly Session[]>;
  /** Ends every session of a user of some kinds, except one. */
  removeOfUser(
    userId: Id<'usr'>,
    which: { readonly kinds: readonly SessionKind[]; readonly but: Id<'ses'> | undefined },
  ): Promise<void>;
  touch(id: Id<'ses'>, usedAt: string): Promise<void>;
  removeExpired(now: string): Promise<void>;
  /** Removes sessions of a kind without a use since a time. */
  removeIdle(kind: SessionKind, since: string): Promise<void>;
}

/** The refresh token before the current one. */
export interface PreviousRefreshToken {
  readonly refreshHash: string;
  readonly rotatedAt: string;
  /** The wrapped seed that, with the token, derives the current pair. */
  readonly wrappedSeed: string;
}

/** A pair of tokens as it is stored. */
export interface KeptKeys {
  readonly refreshHash: string;
  /** Undefined once it has expired. */
  readonly accessHash: string | undefined;
  readonly accessExpiresAt: string;
}

/** The pair before the current one. */
export interface PreviousKeys extends PreviousRefreshToken {
  readonly accessHash: string | undefined;
  readonly accessExpiresAt: string | undefined;
}

interface CliSession {
  readonly session: Session;
  readonly role: Role;
  readonly keys: KeptKeys;
  /** Undefined before the first refresh. */
  readonly previous: PreviousKeys | undefined;
}

/** The tokens of command-line sessions; deleted with their session. */
export interface CliSessionStore {
  add(sessionId: Id<'ses'>, keys: KeptKeys): Promise<void>;
  /** Finds no session of a removed user. @param familyHash the session's token hash */
  find(familyHash: string): Promise<CliSession | undefined>;
  /** Replaces the current pair, within a transaction that has locked the account. */
  rotate(sessionId: Id<'ses'>, next: KeptKeys, previous: PreviousKeys): Promise<void>;
  evictExpiredAccess(now: string): Promise<void>;
}
