import type { Id } from '@svault/shared';

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
