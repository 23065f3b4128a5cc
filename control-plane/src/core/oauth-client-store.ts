import type { Id } from '@svault/shared';
import type { OauthClient } from './oauth-client.ts';

/** A client that registered itself. */
export interface RegisteredClient extends OauthClient {
  readonly id: Id<'ocl'>;
  readonly createdAt: string;
}

/** Clients belong to no account: whoever can reach the service may register one. */
export interface OauthClientStore {
  /** @param addressGroup where the registration came from (`core/address-group.ts`) */
  add(client: RegisteredClient, addressGroup: string): Promise<void>;
  find(id: Id<'ocl'>): Promise<RegisteredClient | undefined>;
  /** Notes a use, unless one was noted after `notSince` already; the first is always noted. */
  touch(id: Id<'ocl'>, usedAt: string, notSince: string): Promise<void>;
  /** Forgets those without a use since a time, and those without any that registered before another. */
  removeUnused(before: { readonly lastUsedAt: string; readonly neverUsedSince: string }): Promise<void>;
  /** Notes that a person is being asked about a client that nobody used yet. */
  noteAsked(id: Id<'ocl'>, at: string): Promise<void>;
  /** Of those that nobody used yet, keeps so many bytes, and all that a person was asked about later than a time. */
  evictNeverUsed(bounds: { readonly maxBytes: number; readonly askedSince: string }): Promise<void>;
}
