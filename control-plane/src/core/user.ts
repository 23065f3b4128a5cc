import type { Id } from '@svault/shared';
import type { Role } from './actor.ts';
import type { Page, PageRequest } from './paging.ts';

export interface User {
  readonly id: Id<'usr'>;
  readonly vaultId: Id<'vlt'>;
  /** As `normalizeEmail` leaves it; one account per address. */
  readonly email: string;
  readonly role: Role;
  readonly isOwner: boolean;
  readonly createdAt: string;
}

/** Nothing here finds a user who was removed. */
export interface UserStore {
  add(user: User): Promise<void>;
  get(vaultId: Id<'vlt'>, id: Id<'usr'>): Promise<User | undefined>;
  findByEmail(email: string): Promise<User | undefined>;
  /** Everybody of an account, oldest first. */
  list(vaultId: Id<'vlt'>, page: PageRequest): Promise<Page<User>>;
  /** Whose account it is. */
  ownerOf(vaultId: Id<'vlt'>): Promise<User | undefined>;
  /** Owners of all accounts, oldest first; for the operator's subcommands. */
  owners(): Promise<readonly User[]>;
  setEmail(vaultId: Id<'vlt'>, id: Id<'usr'>, email: string): Promise<void>;
  setRole(vaultId: Id<'vlt'>, id: Id<'usr'>, role: Role): Promise<void>;
  /** Keeps the id, since agents and events name it, and lets the address go. */
  markDeleted(vaultId: Id<'vlt'>, id: Id<'usr'>, deletedAt: string): Promise<void>;
}

/** What counts as an e-mail address: something, an at sign, something; RFC 5321 section 4.5.3.1 bounds both. */
export const EMAIL_FORM = /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]{1,189}$/u;

/** What {@link EMAIL_FORM} lets through is no longer. */
export const EMAIL_CHARACTERS = 254;

/** The first owner's address until the operator names one. Nobody else ever has it, whatever a provider says. */
export const PLACEHOLDER_EMAIL = 'owner@localhost';

/**
 * How an address is kept and compared. Only ASCII letters lose their case: the full mapping turns other letters into
 * ASCII ones (U+212A, the Kelvin sign, into `k`), so that somebody else's address would become the owner's.
 */
export const normalizeEmail = (text: string): string =>
  text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());

/** A person as an identity provider knows them. */
export interface Identity {
  readonly issuer: string;
  /** Unique at the issuer and never given to another person (OpenID Connect Core 1.0, section 2, `sub`). */
  readonly subject: string;
}

/** Which user an identity stands for: at most one, and a user has at most one at each issuer. */
export interface IdentityStore {
  findUser(identity: Identity): Promise<User | undefined>;
  /** Whether the user has an identity of this issuer. */
  has(userId: Id<'usr'>, issuer: string): Promise<boolean>;
  /** Rejects when either is bound already. */
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
  /** Takes the link out: given at most once per token, whatever runs beside it. */
  take(tokenHash: string): Promise<LoginLink | undefined>;
  removeOfUser(userId: Id<'usr'>): Promise<void>;
  removeExpired(now: string): Promise<void>;
}

/** What is kept of passwords: a PHC string of Argon2id each. */
export interface PasswordStore {
  /** One look, whether there is such a user, with a password or without. */
  findByEmail(
    email: string,
  ): Promise<
    { readonly userId: Id<'usr'>; readonly vaultId: Id<'vlt'>; readonly passwordHash: string } | undefined
  >;
  find(userId: Id<'usr'>): Promise<string | undefined>;
  /** Sets the first one, or another one in its place. */
  set(userId: Id<'usr'>, passwordHash: string, changedAt: string): Promise<void>;
  remove(userId: Id<'usr'>): Promise<void>;
}
