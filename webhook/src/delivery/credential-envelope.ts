import { type CredentialTicket, formatTime } from '@svault/shared';
import type { CredentialEnvelope } from '@svault/shared/schemas';
import type { CurrentCredential } from '../vault/current-credential.ts';

/**
 * What is delivered of a record (protocol section 5.4 and the table in 5.5). The refresh token goes along only where
 * the record shares it and the grant leaves refreshing to the agent.
 */
export function envelopeOf(
  current: CurrentCredential,
  ticket: Pick<CredentialTicket, 'rfp'>,
): CredentialEnvelope {
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
