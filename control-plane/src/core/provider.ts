import type { Id } from '@svault/shared';

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
