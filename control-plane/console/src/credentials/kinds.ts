import type { Schemas } from '../api/client.ts';

export type TokenType = Schemas['Token']['tokenType'];

/** What a person adds. Several kinds can be of one type: they differ in what the webhook makes of the secret. */
export interface Kind {
  readonly id: KindId;
  readonly tokenType: TokenType;
  readonly name: string;
  readonly says: string;
}

export type KindId =
  | 'text'
  | 'oauth'
  | 'access-token'
  | 'totp'
  | 'aws-sts'
  | 'gcp-service-account'
  | 'github-app'
  | 'certificate'
  | 'ssh-key'
  | 'raw';

export const KINDS: readonly Kind[] = [
  {
    id: 'text',
    tokenType: 'PlainText',
    name: 'API key or password',
    says: 'A text that is handed out as it is.',
  },
  {
    id: 'oauth',
    tokenType: 'JWT',
    name: 'OAuth tokens',
    says: 'Google, GitHub, Microsoft and others. The webhook refreshes them.',
  },
  {
    id: 'access-token',
    tokenType: 'JWT',
    name: 'Access token',
    says: 'A JWT or another token that is not refreshed here.',
  },
  {
    id: 'totp',
    tokenType: 'TOTP',
    name: 'One-time codes (TOTP)',
    says: 'From a QR picture, an otpauth:// address or a secret. Agents get the current code.',
  },
  {
    id: 'aws-sts',
    tokenType: 'RawCredential',
    name: 'AWS',
    says: 'An access key. Agents get short-lived keys that AWS STS makes.',
  },
  {
    id: 'gcp-service-account',
    tokenType: 'RawCredential',
    name: 'Google Cloud',
    says: 'The key file of a service account. Agents get short-lived access tokens.',
  },
  {
    id: 'github-app',
    tokenType: 'RawCredential',
    name: 'GitHub App',
    says: 'The private key of an app. Agents get tokens of one installation.',
  },
  {
    id: 'certificate',
    tokenType: 'Certificate',
    name: 'Certificate',
    says: 'A certificate chain and its private key, as PEM.',
  },
  { id: 'ssh-key', tokenType: 'SSHKey', name: 'SSH key', says: 'A private key, and its public key.' },
  {
    id: 'raw',
    tokenType: 'RawCredential',
    name: 'Anything else',
    says: 'JSON or another text, of any form, that is handed out as it is.',
  },
];

/** @returns undefined for a text that is no kind, or not one of this type */
export const kindOf = (id: string | undefined, tokenType?: TokenType): Kind | undefined =>
  KINDS.find((kind) => kind.id === id && (tokenType === undefined || kind.tokenType === tokenType));

/** Token endpoints of providers, for the OAuth form. */
export const OAUTH_PROVIDERS = [
  ['https://oauth2.googleapis.com/token', 'Google'],
  ['https://github.com/login/oauth/access_token', 'GitHub'],
  ['https://login.microsoftonline.com/common/oauth2/v2.0/token', 'Microsoft'],
] as const;

export const TYPE_NAMES: Readonly<Record<TokenType, string>> = {
  PlainText: 'Text',
  JWT: 'Token',
  Certificate: 'Certificate',
  SSHKey: 'SSH key',
  RawCredential: 'Raw or minted',
  TOTP: 'One-time codes',
};
