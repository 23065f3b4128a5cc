import type { Id } from '@svault/shared';

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
