import type { AuthMethod, Delivery, Minter, Recipient, TokenType, TotpSeed } from '@svault/shared/schemas';

/** How a `JWT` record is refreshed; the client's secret is kept with the other secrets. */
export interface SealedProvider {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly authMethod: AuthMethod;
  readonly scope?: string | undefined;
  /** Only the service can authenticate the client (protocol section 7). */
  readonly mediated: boolean;
}

/** How codes are made of a seed, which is kept with the other secrets. */
export type SealedTotp = Omit<TotpSeed, 'seed'>;

/** How a credential is minted; the key for it is kept with the other secrets. */
export type SealedMinter =
  | Omit<Extract<Minter, { type: 'aws-sts' }>, 'secretAccessKey'>
  | Omit<Extract<Minter, { type: 'gcp-service-account' }>, 'privateKey'>
  | Omit<Extract<Minter, { type: 'github-app' }>, 'privateKey'>;

/**
 * What decides where a secret may go, and what lists tell of it. Authenticated together with the secret: changing any
 * of it means storing the secret again (protocol section 1).
 */
export interface SealedSettings {
  readonly tokenType: TokenType;
  readonly delivery: Delivery;
  readonly allowedHosts: readonly string[];
  readonly allowedHeaders: readonly string[];
  /** With delivery `sealed`, and only there. */
  readonly recipients?: readonly Recipient[] | undefined;
  /** A proxy may inject less than 80 bits (protocol section 5.5, "Short secrets"); absent: it may not. */
  readonly allowShortSecret?: true | undefined;
  /** `JWT` only. */
  readonly shareRefreshToken?: boolean | undefined;
  readonly provider?: SealedProvider | undefined;
  /** `TOTP` only. */
  readonly totp?: SealedTotp | undefined;
  /** `RawCredential` only. */
  readonly minter?: SealedMinter | undefined;
  /** As protocol section 2 writes times. */
  readonly expiryTime?: string | undefined;
  readonly hasRefreshToken: boolean;
  /** The secret is `""`. */
  readonly empty: boolean;
}

/** The secret fields of a record, by what they are delivered as (protocol section 5.5, the table). */
export interface RecordSecret {
  /** `""` where it is made on demand. */
  readonly accessToken: string;
  /** What the access token is made of: a TOTP seed in base32, the key of a minter. */
  readonly seed?: string | undefined;
  readonly refreshToken?: string | undefined;
  /** Of the provider. */
  readonly clientSecret?: string | undefined;
  /** `Certificate`. */
  readonly privateKey?: string | undefined;
  /** `SSHKey`: a line of OpenSSH's form, where it was given or can be told from the private key. */
  readonly publicKey?: string | undefined;
  /** `SSHKey`: OpenSSH's `SHA256:…`. */
  readonly fingerprint?: string | undefined;
}

/** What is to be stored under a name. */
export interface RecordDraft {
  readonly settings: SealedSettings;
  readonly secret: RecordSecret;
}
