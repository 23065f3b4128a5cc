import type { RequestRule } from '@svault/shared/request-rules';
import type {
  ApprovalSetting,
  AuthMethod,
  Delivery,
  Minter,
  Recipient,
  TokenType,
  TotpSeed,
} from '@svault/shared/schemas';

/** How a `JWT` record is refreshed; the client's secret is stored with the other secrets. */
export interface SealedProvider {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly authMethod: AuthMethod;
  readonly scope?: string | undefined;
  /** Only the control plane can authenticate the client (PROTOCOL.md section 7). */
  readonly mediated: boolean;
}

/** How codes are made from a shared secret (RFC 6238), which is stored with the other secrets. */
export type SealedTotp = Omit<TotpSeed, 'seed'>;

/** How a credential is minted; the key for it is stored with the other secrets. */
export type SealedMinter =
  | Omit<Extract<Minter, { type: 'aws-sts' }>, 'secretAccessKey'>
  | Omit<Extract<Minter, { type: 'gcp-service-account' }>, 'privateKey'>
  | Omit<Extract<Minter, { type: 'github-app' }>, 'privateKey'>;

/**
 * Where a secret may go, and what lists show of it. It is authenticated together with the secret: changing any
 * of it means storing the secret again (PROTOCOL.md section 1).
 */
export interface SealedSettings {
  readonly tokenType: TokenType;
  readonly delivery: Delivery;
  readonly allowedHosts: readonly string[];
  readonly allowedHeaders: readonly string[];
  /** Query parameters in which a proxy may inject it; absent: none. */
  readonly allowedQuery?: readonly string[] | undefined;
  /** What a proxy may ask (PROTOCOL.md section 5.7); absent: anything, at the allowed hosts. */
  readonly requests?: readonly RequestRule[] | undefined;
  /** A person decides on its uses (PROTOCOL.md section 5.10); absent: none of them needs that. */
  readonly approval?: ApprovalSetting | undefined;
  /** With delivery `sealed`, and only there. */
  readonly recipients?: readonly Recipient[] | undefined;
  /** A proxy may inject less than 80 bits (PROTOCOL.md section 5.5, "Short secrets"); absent: it may not. */
  readonly allowShortSecret?: true | undefined;
  /** `JWT` only. */
  readonly shareRefreshToken?: boolean | undefined;
  readonly provider?: SealedProvider | undefined;
  /** `TOTP` only. */
  readonly totp?: SealedTotp | undefined;
  /** `RawCredential` only. */
  readonly minter?: SealedMinter | undefined;
  /** As PROTOCOL.md section 2 writes times. */
  readonly expiryTime?: string | undefined;
  readonly hasRefreshToken: boolean;
  /** The secret is `""`. */
  readonly empty: boolean;
}

/** The secret fields of a record, by the names under which they are delivered (PROTOCOL.md section 5.5, the table). */
export interface RecordSecret {
  /** `""` if it is made on demand. */
  readonly accessToken: string;
  /** The shared secret of TOTP (RFC 6238) in base32, or a minter's key: the access token is made from it. */
  readonly seed?: string | undefined;
  readonly refreshToken?: string | undefined;
  /** Of the provider. */
  readonly clientSecret?: string | undefined;
  /** `Certificate`. */
  readonly privateKey?: string | undefined;
  /** `SSHKey`: a line of OpenSSH's form, if it was given or the private key contains it. */
  readonly publicKey?: string | undefined;
  /** `SSHKey`: OpenSSH's `SHA256:…`. */
  readonly fingerprint?: string | undefined;
}

/** A record before it is stored under a name. */
export interface RecordDraft {
  readonly settings: SealedSettings;
  readonly secret: RecordSecret;
}
