import type { Id } from '@svault/shared';
import type { Page, PageRequest } from './paging.ts';

/** How a client authenticates at its provider (PROTOCOL.md 5.4). Without `none`, which needs no mediated refresh. */
export const CLIENT_AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const;
export type ClientAuthMethod = (typeof CLIENT_AUTH_METHODS)[number];

/** The algorithms of `private_key_jwt` (RFC 7523). */
export const ASSERTION_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
export type AssertionAlgorithm = (typeof ASSERTION_ALGORITHMS)[number];

/** A client of an OAuth provider, for the mediated refresh (PROTOCOL.md section 7). */
export interface Provider {
  readonly id: Id<'prv'>;
  readonly vaultId: Id<'vlt'>;
  readonly name: string;
  /** Identifies the provider together with `clientId`, byte for byte. */
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly authMethod: ClientAuthMethod;
  /** Undefined unless the method is `private_key_jwt`. */
  readonly algorithm: AssertionAlgorithm | undefined;
  /** `kid` of assertions. */
  readonly keyId: string | undefined;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** With its client secret or private key as it is stored. */
export interface StoredProvider extends Provider {
  /** base64url of the secret under the root key. */
  readonly secretWrapped: string;
}

/** Of one account. */
export const MAX_PROVIDERS = 200;

export interface ProviderStore {
  /** @returns false, and changes nothing, where the account has one with this token URL and client id already */
  add(provider: StoredProvider): Promise<boolean>;
  get(vaultId: Id<'vlt'>, id: string): Promise<StoredProvider | undefined>;
  /** By both values, byte for byte. */
  find(vaultId: Id<'vlt'>, tokenUrl: string, clientId: string): Promise<StoredProvider | undefined>;
  /** Oldest first. */
  list(vaultId: Id<'vlt'>, page: PageRequest): Promise<Page<Provider>>;
  /** Stops counting at `atMost`. */
  count(vaultId: Id<'vlt'>, atMost: number): Promise<number>;
  /** Replaces the one with its id. */
  replace(provider: StoredProvider): Promise<void>;
  /** @returns whether it was there */
  remove(vaultId: Id<'vlt'>, id: Id<'prv'>): Promise<boolean>;
}
