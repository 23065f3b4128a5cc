import type { GroupCommit } from '@svault/server-kit/group-commit';
import {
  AppError,
  type CredentialTicket,
  WEBHOOK_ERROR_STATUS,
  formatTime,
  isWebhookErrorCode,
  utf8,
} from '@svault/shared';
import type { CredentialEnvelope, Recipient } from '@svault/shared/schemas';
import { jwkThumbprint, keyMembers } from '@svault/shared/sealed';
import { type AuditLog, type OwnEvent, subjectOf } from '../audit/audit-log.ts';
import { CREDENTIAL_USE } from '../approvals/match.ts';
import { type Approval, type ApprovedUses, needsApproval } from '../approvals/use-approval.ts';
import { ApiError } from '../errors.ts';
import type { SealedSettings } from '../vault/record.ts';
import type { Vault } from '../vault/vault.ts';
import type { CurrentCredential, CurrentCredentials } from './current-credential.ts';

/** How a credential is delivered. */
type DeliveryMode =
  | { readonly how: 'plain' }
  | { readonly how: 'sealed'; readonly recipient: Recipient; readonly thumbprint: string };

/**
 * How a credential is delivered, by the settings that were sealed with it; the ticket only names the recipient.
 *
 * @throws ApiError DELIVERY_NOT_ALLOWED
 */
export function deliveryModeOf(
  settings: SealedSettings,
  { cnf }: Pick<CredentialTicket, 'cnf'>,
): DeliveryMode {
  switch (settings.delivery) {
    case 'any':
      return { how: 'plain' };
    case 'proxy-only':
      throw new ApiError('DELIVERY_NOT_ALLOWED', 'this credential is used through a proxy only');
    case 'sealed': {
      const recipient = settings.recipients?.find((candidate) => jwkThumbprint(candidate) === cnf?.jkt);
      if (recipient === undefined || cnf === undefined)
        throw new ApiError('DELIVERY_NOT_ALLOWED', 'this credential is delivered only to its own recipients');
      return { how: 'sealed', recipient, thumbprint: cnf.jkt };
    }
  }
}

interface Delivered {
  readonly contentType: string;
  readonly body: string;
}

/** What the log says of a use, and the answer. */
interface Decided {
  readonly event: OwnEvent;
  /** Makes the body, or throws the rejection; call it once the entry is on the disk. */
  readonly finish: () => Promise<Delivered>;
}

/**
 * Delivers a credential against a ticket.
 *
 * The claim of the ticket, the decision and its log entry are one commit, and the answer waits until it is on the disk; a
 * rejection consumes the ticket and is logged alike. If a provider or minter must be called, the ticket is claimed first, so
 * that it causes one call at most, and the entry follows with the result.
 */
export function createDeliver(deps: {
  readonly vault: Pick<Vault, 'open'>;
  readonly credentials: CurrentCredentials;
  readonly approvedUses: ApprovedUses;
  readonly audit: Pick<AuditLog, 'append' | 'appendNow'>;
  readonly commit: GroupCommit;
}) {
  const { vault, credentials, approvedUses, audit, commit } = deps;

  /** In an open transaction. @returns a function if a provider or minter must be called */
  const decideNow = (ticket: CredentialTicket): Decided | (() => Promise<Decided>) => {
    let version: number | undefined;
    try {
      const record = vault.open(ticket.svc);
      if (record === undefined) throw new ApiError('NOT_FOUND', 'there is no credential of that name');
      ({ version } = record);
      const mode = deliveryModeOf(record.settings, ticket);
      const approval = needsApproval(record, 'credential')
        ? approvedUses.mustBeApprovedNow(record, ticket.sub, CREDENTIAL_USE)
        : undefined;
      const current = credentials.atHand(record, ticket.sub);
      approvedUses.useUpNow(approval);
      if (current !== undefined) return delivered(ticket, current, mode, approval);
      return () =>
        credentials.obtain(record, ticket.sub).then(
          (obtained) => delivered(ticket, obtained, mode, approval),
          (error: unknown) => rejected(ticket, error, version),
        );
    } catch (error) {
      return rejected(ticket, error, version);
    }
  };

  /**
   * @param unclaimed a verified ticket; `claimNow` consumes it in an open transaction
   * @returns the body and its type, or why the ticket could not be claimed
   * @throws ApiError NOT_FOUND, DELIVERY_NOT_ALLOWED, APPROVAL_REQUIRED, and those of {@link CurrentCredentials}
   */
  return async <Rejection extends string>(unclaimed: {
    readonly ticket: CredentialTicket;
    claimNow(): 'claimed' | Rejection;
  }): Promise<Delivered | { readonly unclaimable: Rejection }> => {
    const { ticket, claimNow } = unclaimed;
    const decision = await commit.run(() => {
      const claimed = claimNow();
      if (claimed !== 'claimed') return { unclaimable: claimed };
      const decided = decideNow(ticket);
      if ('event' in decided) audit.appendNow(decided.event);
      return decided;
    });
    if ('unclaimable' in decision) return decision;
    if ('event' in decision) return decision.finish();
    const decided = await decision();
    await audit.append(decided.event);
    return decided.finish();
  };
}

export type Deliver = ReturnType<typeof createDeliver>;

function delivered(
  ticket: CredentialTicket,
  current: CurrentCredential,
  mode: DeliveryMode,
  approval: Approval,
): Decided {
  const { jti, gnt, rfp } = ticket;
  const { version } = current.record;
  const jkt = mode.how === 'sealed' ? mode.thumbprint : undefined;
  return {
    event: {
      ...useOf(ticket),
      outcome: 'success',
      detail: { jti, gnt, rfp, version, how: mode.how, jkt, approval: approval?.id },
    },
    finish: async () => {
      const json = JSON.stringify(envelopeOf(current, ticket));
      if (mode.how === 'plain') return { contentType: 'application/json; charset=utf-8', body: json };
      return { contentType: 'application/jose', body: await sealFor(mode, json) };
    },
  };
}

/** Codes whose reason is a provider's, which the owner gets and an agent does not (PROTOCOL.md SAV-30). */
const PROVIDER_CODES: ReadonlySet<unknown> = new Set([
  'MINT_FAILED',
  'PROVIDER_ERROR',
  'PROVIDER_TIMEOUT',
  'REAUTH_NEEDED',
]);

/** @param error an AppError, or for example that the record was changed outside this program */
function rejected(ticket: CredentialTicket, error: unknown, version: number | undefined): Decided {
  const { jti, gnt, rfp, sub } = ticket;
  const providerReason =
    error instanceof AppError && PROVIDER_CODES.has(error.code) ? error.reason : undefined;
  const code = error instanceof AppError && isWebhookErrorCode(error.code) ? error.code : 'INTERNAL';
  const outcome = WEBHOOK_ERROR_STATUS[code] >= 500 ? 'error' : 'denied';
  return {
    event: { ...useOf(ticket), outcome, detail: { jti, gnt, rfp, version, code, reason: providerReason } },
    finish: async () => {
      if (providerReason === undefined || !sub.startsWith('usr_')) throw error;
      const { message } = error as AppError;
      throw new AppError(code, message, {
        cause: error,
        details: { providerReason },
        reason: providerReason,
      });
    },
  };
}

function useOf({ svc, sub }: CredentialTicket): Omit<OwnEvent, 'outcome'> {
  return { eventType: 'CREDENTIAL_DELIVERED', serviceName: svc, ...subjectOf(sub) };
}

/**
 * The members of a delivered credential (PROTOCOL.md section 5.4 and the table in 5.5). The refresh token is among
 * them only if the record shares it and the grant leaves refreshing to the agent.
 */
function envelopeOf(current: CurrentCredential, ticket: Pick<CredentialTicket, 'rfp'>): CredentialEnvelope {
  const { record, expiryTime, expiresIn } = current;
  const { settings } = record;
  const { refreshToken, privateKey, publicKey, fingerprint } = record.secret.reveal();
  const shared = settings.hasRefreshToken && settings.shareRefreshToken === true && ticket.rfp === 'none';
  return {
    token: {
      accessToken: current.accessToken.reveal(),
      ...(shared && { refreshToken }),
      serviceName: record.serviceName,
      tokenType: settings.tokenType,
      createdAt: formatTime(record.createdAtMs),
      ...(expiryTime !== undefined && { expiryTime }),
      ...(expiresIn !== undefined && { expiresIn }),
      ...(privateKey !== undefined && { privateKey }),
      ...(publicKey !== undefined && { publicKey }),
      ...(fingerprint !== undefined && { fingerprint }),
    },
  };
}

/** Compact JWE of a JSON text for one recipient (PROTOCOL.md section 5.4; RFC 7516, ECDH-ES with A256GCM). */
async function sealFor(
  { recipient, thumbprint }: Extract<DeliveryMode, { how: 'sealed' }>,
  json: string,
): Promise<string> {
  // Loaded where a credential is sealed.
  const { CompactEncrypt, importJWK } = await import('jose');
  const key = await importJWK({ ...keyMembers(recipient) }, 'ECDH-ES');
  return new CompactEncrypt(utf8(json))
    .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A256GCM', kid: thumbprint, cty: 'json' })
    .encrypt(key);
}
