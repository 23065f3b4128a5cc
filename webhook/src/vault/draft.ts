import { formatTime, parseTime } from '@svault/shared';
import { DEFAULT_ALLOWED_HEADERS, type Provider, type StoreBody } from '@svault/shared/schemas';
import { refusal } from '../http/errors.ts';
import type { RecordDraft, RecordSecret, SealedProvider } from './record.ts';
import { isOnCurve } from './recipients.ts';
import { publicKeyOf, readPublicKeyLine } from './ssh-public-key.ts';

/**
 * What a body of `POST /v1/store` asks to be stored.
 *
 * @throws AppError INVALID_REQUEST for a type or minter that this webhook does not claim, and for a recipient that is
 *   no point of its curve
 */
export function draftFrom(body: StoreBody): RecordDraft {
  const secret = secretOf(body);
  const provider = body.tokenType === 'JWT' && body.provider ? sealedProvider(body.provider) : undefined;
  const shareRefreshToken =
    body.tokenType === 'JWT' ? (body.shareRefreshToken ?? body.provider === undefined) : undefined;
  if (body.recipients?.every(isOnCurve) === false)
    throw refusal('INVALID_REQUEST', 'a recipient is no point of P-256');
  return {
    secret,
    settings: {
      tokenType: body.tokenType,
      delivery: body.delivery ?? 'any',
      allowedHosts: body.allowedHosts ?? [],
      allowedHeaders: body.allowedHeaders ?? DEFAULT_ALLOWED_HEADERS,
      recipients: body.recipients,
      shareRefreshToken,
      provider,
      expiryTime: normalTime(body.expiryTime),
      hasRefreshToken: (secret.refreshToken ?? '') !== '',
      empty: secret.accessToken === '',
    },
  };
}

function secretOf(body: StoreBody): RecordSecret {
  switch (body.tokenType) {
    case 'PlainText':
      return { accessToken: body.value };
    case 'JWT':
      return {
        accessToken: body.accessToken,
        refreshToken: body.refreshToken,
        clientSecret: body.provider?.clientSecret,
      };
    case 'Certificate':
      return { accessToken: body.certificate, privateKey: body.privateKey };
    case 'SSHKey':
      return sshSecret(body.privateKey, body.publicKey);
    case 'RawCredential':
      if (body.value !== undefined) return { accessToken: body.value };
      throw refusal('INVALID_REQUEST', 'this webhook does not have that minter');
    case 'TOTP':
      throw refusal('INVALID_REQUEST', 'this webhook does not store TOTP');
  }
}

/** The fingerprint is told from the public key as given, else from the private one. */
function sshSecret(privateKey: string, given: string | undefined): RecordSecret {
  const known = given === undefined ? publicKeyOf(privateKey) : readPublicKeyLine(given);
  return { accessToken: privateKey, publicKey: given ?? known?.line, fingerprint: known?.fingerprint };
}

/** Protocol section 5.4, the default of `authMethod`. */
function sealedProvider(provider: Provider): SealedProvider {
  const { tokenUrl, clientId, scope, mediated = false } = provider;
  const canAuthenticate = provider.clientSecret !== undefined || mediated;
  const authMethod = provider.authMethod ?? (canAuthenticate ? 'client_secret_basic' : 'none');
  return { tokenUrl, clientId, authMethod, scope, mediated };
}

/** One spelling, so that lists and comparisons need no other. */
function normalTime(text: string | undefined): string | undefined {
  const ms = text === undefined ? undefined : parseTime(text);
  return ms === undefined ? undefined : formatTime(ms);
}
