import type { Id } from '@svault/shared';
import type { OauthClient } from './oauth-client.ts';

/** A client that registered itself. */
export interface RegisteredClient extends OauthClient {
  readonly id: Id<'ocl'>;
  readonly createdAt: string;
}

/** Clients belong to no account: whoever can reach the service may register one. */
export interface OauthClientStore {
  add(client: RegisteredClient): Promise<void>;
  find(id: Id<'ocl'>): Promise<RegisteredClient | undefined>;
  /** Notes a use, unless one was noted after `notSince` already; the first is always noted. */
  touch(id: Id<'ocl'>, usedAt: string, notSince: string): Promise<void>;
  /** Forgets those without a use since a time, and those without any that registered before another. */
  removeUnused(before: { readonly lastUsedAt: string; readonly neverUsedSince: string }): Promise<void>;
  /** Of those that nobody used yet, keeps the latest, about so many. */
  keepLatestNeverUsed(most: number): Promise<void>;
}
