import type { Id } from '@svault/shared';
import type { Role } from './actor.ts';
import type { NamedPageRequest, Page } from './paging.ts';

export interface User {
  readonly id: Id<'usr'>;
  readonly vaultId: Id<'vlt'>;
  /** As `normalizeEmail` leaves it; one account per address. */
  readonly email: string;
  readonly role: Role;
  readonly isOwner: boolean;
  readonly createdAt: string;
}

/** No method finds a removed user. */
export interface UserStore {
  add(user: User): Promise<void>;
  get(vaultId: Id<'vlt'>, id: Id<'usr'>): Promise<User | undefined>;
  findByEmail(email: string): Promise<User | undefined>;
  /** Oldest first; the name of a user is the address. */
  list(vaultId: Id<'vlt'>, page: NamedPageRequest): Promise<Page<User>>;
  ownerOf(vaultId: Id<'vlt'>): Promise<User | undefined>;
  /** The owners of all accounts, oldest first, for the operator's subcommands. */
  owners(): Promise<readonly User[]>;
  setEmail(vaultId: Id<'vlt'>, id: Id<'usr'>, email: string): Promise<void>;
  setRole(vaultId: Id<'vlt'>, id: Id<'usr'>, role: Role): Promise<void>;
  /** Keeps the id, which agents and events refer to, and frees the address. */
  markDeleted(vaultId: Id<'vlt'>, id: Id<'usr'>, deletedAt: string): Promise<void>;
}

/** RFC 5321 section 4.5.3.1 bounds both parts. */
export const EMAIL_FORM = /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]{1,189}$/u;

/** The maximum of {@link EMAIL_FORM}. */
export const EMAIL_CHARACTERS = 254;

/** The first owner's address until the operator sets one. No other user gets it, whatever a provider claims. */
export const PLACEHOLDER_EMAIL = 'owner@localhost';

/**
 * Lower-cases ASCII letters only: the full mapping turns other letters into ASCII ones (U+212A, the Kelvin sign, into
 * `k`), which would make another person's address the owner's.
 */
export const normalizeEmail = (text: string): string =>
  text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());

/** A person as an identity provider knows them. */
export interface Identity {
  readonly issuer: string;
  /** Unique at the issuer and never given to another person (OpenID Connect Core 1.0, section 2, `sub`). */
  readonly subject: string;
}

/** An identity belongs to at most one user, and a user has at most one at each issuer. */
export interface IdentityStore {
  findUser(identity: Identity): Promise<User | undefined>;
  /** Whether the user has an identity of this issuer. */
  has(userId: Id<'usr'>, issuer: string): Promise<boolean>;
  /** Throws where the identity or the user's place at the issuer is taken. */
  bind(identity: Identity, userId: Id<'usr'>, createdAt: string): Promise<void>;
  removeOfUser(userId: Id<'usr'>): Promise<void>;
}

export interface LoginLink {
  readonly vaultId: Id<'vlt'>;
  readonly userId: Id<'usr'>;
  readonly expiresAt: string;
}

export interface LoginLinkStore {
  add(link: LoginLink & { readonly tokenHash: string }): Promise<void>;
  find(tokenHash: string): Promise<LoginLink | undefined>;
  /** Consumes a link: it is returned at most once. */
  take(tokenHash: string): Promise<LoginLink | undefined>;
  removeOfUser(userId: Id<'usr'>): Promise<void>;
  removeExpired(now: string): Promise<void>;
}

/** Password hashes as PHC strings of Argon2id. */
export interface PasswordStore {
  /** One query, whether or not the user exists and has a password, so that the time reveals neither. */
  findByEmail(
    email: string,
  ): Promise<
    { readonly userId: Id<'usr'>; readonly vaultId: Id<'vlt'>; readonly passwordHash: string } | undefined
  >;
  find(userId: Id<'usr'>): Promise<string | undefined>;
  set(userId: Id<'usr'>, passwordHash: string, changedAt: string): Promise<void>;
  remove(userId: Id<'usr'>): Promise<void>;
}
