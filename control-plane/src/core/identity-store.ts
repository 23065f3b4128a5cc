import type { Id } from '@svault/shared';
import type { User } from './user-store.ts';

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
