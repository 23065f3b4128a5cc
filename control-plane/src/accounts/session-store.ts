import type { Id } from '@svault/shared';
import type { Page, PageRequest } from '../paging.ts';
import type { Role } from './actor.ts';

/** A signed-in browser. The cookie's value is kept as a hash only. */
export interface Session {
  readonly id: Id<'ses'>;
  readonly vaultId: Id<'vlt'>;
  readonly userId: Id<'usr'>;
  readonly kind: 'console';
  /** What the client called itself, so that an owner recognises it; shown, never trusted. */
  readonly client: string;
  readonly createdAt: string;
  readonly lastUsedAt: string;
  /** The absolute end; the idle end follows from `lastUsedAt`. */
  readonly expiresAt: string;
}

export interface SessionStore {
  add(session: Session & { readonly tokenHash: string }): Promise<void>;
  findByHash(tokenHash: string): Promise<(Session & { readonly role: Role }) | undefined>;
  /** Oldest first. @param userId only this user's */
  list(vaultId: Id<'vlt'>, userId: Id<'usr'> | undefined, page: PageRequest): Promise<Page<Session>>;
  /** @returns whether there was one. @param userId only when it is this user's */
  remove(vaultId: Id<'vlt'>, id: Id<'ses'>, userId: Id<'usr'> | undefined): Promise<boolean>;
  touch(id: Id<'ses'>, usedAt: string): Promise<void>;
  /** Forgets what ended before a time. */
  removeEnded(before: { readonly expiresAt: string; readonly lastUsedAt: string }): Promise<void>;
}
