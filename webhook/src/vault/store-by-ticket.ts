import { AppError, type StoreTicket, formatTime, parseTime } from '@svault/shared';
import {
  DEFAULT_ALLOWED_HEADERS,
  type Minter,
  type Provider,
  type StoreAnswer,
  type StoreBody,
  totpSeedOf,
  warningsOf,
} from '@svault/shared/schemas';
import { isUsableRecipient } from '@svault/shared/sealed';
import { type AuditLog, subjectOf } from '../audit/audit-log.ts';
import { ApiError } from '../errors.ts';
import type { RecordDraft, RecordSecret, SealedMinter, SealedProvider, SealedSettings } from './record.ts';
import { isSigningKey } from './signing-key.ts';
import { publicKeyOf, readPublicKeyLine } from './ssh-public-key.ts';
import type { Vault } from './vault.ts';

/**
 * The record that a body of `POST /v1/store` describes.
 *
 * @throws ApiError INVALID_REQUEST for a recipient that is no point of its curve, and for a minter's key that cannot
 *   sign
 */
export function draftFrom(body: StoreBody): RecordDraft {
  const { secret, settings } = byTokenType(body);
  if (body.recipients?.every(isUsableRecipient) === false)
    throw new ApiError(
      'INVALID_REQUEST',
      'a recipient is no point of its curve, or one that gives no secret',
    );
  return {
    secret,
    settings: {
      tokenType: body.tokenType,
      delivery: body.delivery ?? 'any',
      allowedHosts: body.allowedHosts ?? [],
      allowedHeaders: body.allowedHeaders ?? DEFAULT_ALLOWED_HEADERS,
      allowedQuery: body.allowedQuery,
      requests: body.requests,
      approval: body.approval,
      recipients: body.recipients,
      ...(body.allowShortSecret === true && { allowShortSecret: true }),
      ...settings,
      expiryTime: normalTime(body.expiryTime),
      hasRefreshToken: (secret.refreshToken ?? '') !== '',
      // A chain without its key is no credential (SAV-47).
      empty:
        (secret.seed ?? secret.accessToken) === '' ||
        (body.tokenType === 'Certificate' && secret.privateKey === ''),
    },
  };
}

/** What differs by type. */
interface TypeDraft {
  readonly secret: RecordSecret;
  readonly settings?: Pick<SealedSettings, 'shareRefreshToken' | 'provider' | 'totp' | 'minter'>;
}

function byTokenType(body: StoreBody): TypeDraft {
  switch (body.tokenType) {
    case 'PlainText':
      return { secret: { accessToken: body.value } };
    case 'JWT':
      return jwtDraft(body);
    case 'Certificate':
      return { secret: { accessToken: body.certificate, privateKey: body.privateKey } };
    case 'SSHKey':
      return { secret: sshSecret(body.privateKey, body.publicKey) };
    case 'RawCredential':
      return body.minter === undefined
        ? { secret: { accessToken: body.value ?? '' } }
        : minterDraft(body.minter);
    case 'TOTP': {
      const { seed, ...totp } = totpSeedOf(body) ?? unreadableSeed();
      return { secret: { accessToken: '', seed }, settings: { totp } };
    }
  }
}

function jwtDraft(body: Extract<StoreBody, { tokenType: 'JWT' }>): TypeDraft {
  const { accessToken, refreshToken, provider, shareRefreshToken = provider === undefined } = body;
  return {
    secret: { accessToken, refreshToken, clientSecret: provider?.clientSecret },
    settings: { shareRefreshToken, provider: provider && sealedProvider(provider) },
  };
}

/** Splits a minter into the settings that lists may show and the key. */
function minterDraft(minter: Minter): TypeDraft {
  const draft = (key: string, sealed: SealedMinter): TypeDraft => ({
    secret: { accessToken: '', seed: key },
    settings: { minter: sealed },
  });
  if (minter.type === 'aws-sts') {
    const { secretAccessKey, ...sealed } = minter;
    return draft(secretAccessKey, sealed);
  }
  const { privateKey, ...sealed } = minter;
  if (privateKey !== '' && !isSigningKey(privateKey))
    throw new ApiError('INVALID_REQUEST', 'privateKey: not an RSA key of 2048 to 8192 bits in PEM');
  return draft(privateKey, sealed);
}

/** Unreachable: the schema has parsed the seed. */
function unreadableSeed(): never {
  throw new ApiError('INVALID_REQUEST', 'secret: not a seed');
}

/** The fingerprint of the given public key, otherwise of the private key's. */
function sshSecret(privateKey: string, given: string | undefined): RecordSecret {
  const known = given === undefined ? publicKeyOf(privateKey) : readPublicKeyLine(given);
  return { accessToken: privateKey, publicKey: given ?? known?.line, fingerprint: known?.fingerprint };
}

/** PROTOCOL.md section 5.4, the default of `authMethod`. */
function sealedProvider(provider: Provider): SealedProvider {
  const { tokenUrl, clientId, scope, mediated = false } = provider;
  const canAuthenticate = provider.clientSecret !== undefined || mediated;
  const authMethod = provider.authMethod ?? (canAuthenticate ? 'client_secret_basic' : 'none');
  return { tokenUrl, clientId, authMethod, scope, mediated };
}

/** One spelling, for lists and comparisons. */
function normalTime(text: string | undefined): string | undefined {
  const ms = text === undefined ? undefined : parseTime(text);
  return ms === undefined ? undefined : formatTime(ms);
}

/**
 * Stores the record that a body describes under the name in the ticket. The ticket is consumed by now, so a rejection
 * is logged.
 */
export function createStoreByTicket(deps: {
  readonly vault: Pick<Vault, 'put'>;
  readonly audit: Pick<AuditLog, 'append'>;
}) {
  const readOrLog = async (ticket: StoreTicket, readBody: () => StoreBody) => {
    try {
      const body = readBody();
      return { draft: draftFrom(body), warnings: warningsOf(body) };
    } catch (error) {
      if (error instanceof AppError)
        await deps.audit.append({
          eventType: 'CREDENTIAL_STORED',
          outcome: 'denied',
          serviceName: ticket.svc,
          ...subjectOf(ticket.sub),
          detail: { code: error.code },
        });
      throw error;
    }
  };
  /**
   * @param readBody parses the body; its refusal is logged too
   * @throws ApiError INVALID_REQUEST, VERSION_CONFLICT
   */
  return async (ticket: StoreTicket, readBody: () => StoreBody): Promise<StoreAnswer> => {
    const { svc: serviceName, sub, ifv: ifVersion } = ticket;
    const { draft, warnings } = await readOrLog(ticket, readBody);
    const { version } = await deps.vault.put(serviceName, draft, { ifVersion, subject: subjectOf(sub) });
    return { serviceName, version, ...(warnings.length > 0 && { warnings: [...warnings] }) };
  };
}

export type StoreByTicket = ReturnType<typeof createStoreByTicket>;
