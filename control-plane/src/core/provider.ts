import type { Id } from '@svault/shared';
import type { Page, PageRequest } from './paging.ts';

/**
 * How the service authenticates a client at its provider (protocol.md 5.4). `none` is not among them: where there is nothing
 * to authenticate with, the webhook needs nobody's help.
 */
export const CLIENT_AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const;
export type ClientAuthMethod = (typeof CLIENT_AUTH_METHODS)[number];

/** What an assertion of `private_key_jwt` may be signed with. */
export const ASSERTION_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
export type AssertionAlgorithm = (typeof ASSERTION_ALGORITHMS)[number];

/** A client of an OAuth provider, for the mediated refresh (protocol.md section 7). Its secret is kept beside it. */
export interface Provider {
  readonly id: Id<'prv'>;
  readonly vaultId: Id<'vlt'>;
  readonly name: string;
  /** With `clientId` what the provider is found by, byte for byte. */
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly authMethod: ClientAuthMethod;
  /** For `private_key_jwt`, undefined otherwise. */
  readonly algorithm: AssertionAlgorithm | undefined;
  /** `kid` of assertions. */
  readonly keyId: string | undefined;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** With its client secret or private key as it is kept. */
export interface StoredProvider extends Provider {
  /** base64url of the secret under the master key. */
  readonly secretWrapped: string;
}

/** Of one account. */
export const MAX_PROVIDERS = 200;

export interface ProviderStore {
  /** @returns false, and changes nothing, where the account has one of this token URL and client id already */
  add(provider: StoredProvider): Promise<boolean>;
  get(vaultId: Id<'vlt'>, id: string): Promise<StoredProvider | undefined>;
  /** By both values, byte for byte. */
  find(vaultId: Id<'vlt'>, tokenUrl: string, clientId: string): Promise<StoredProvider | undefined>;
  /** Oldest first. */
  list(vaultId: Id<'vlt'>, page: PageRequest): Promise<Page<Provider>>;
  /** How many there are, counted no further than `atMost`. */
  count(vaultId: Id<'vlt'>, atMost: number): Promise<number>;
  /** Takes the place of the one with its id. */
  replace(provider: StoredProvider): Promise<void>;
  /** @returns whether it was there */
  remove(vaultId: Id<'vlt'>, id: Id<'prv'>): Promise<boolean>;
}
