import { type CredentialTicket, formatTime } from '@svault/shared';
import type { CredentialEnvelope } from '@svault/shared/schemas';
import type { OpenRecord } from '../vault/vault.ts';

/**
 * What is delivered of a record (protocol section 5.4 and the table in 5.5). The refresh token goes along only where
 * the record shares it and the grant leaves refreshing to the agent.
 */
export function envelopeOf(record: OpenRecord, ticket: Pick<CredentialTicket, 'rfp'>): CredentialEnvelope {
  const { settings } = record;
  const { accessToken, refreshToken, privateKey, publicKey, fingerprint } = record.secret.reveal();
  const shared = settings.hasRefreshToken && settings.shareRefreshToken === true && ticket.rfp === 'none';
  return {
    token: {
      accessToken,
      ...(shared && { refreshToken }),
      serviceName: record.serviceName,
      tokenType: settings.tokenType,
      createdAt: formatTime(record.createdAtMs),
      ...(settings.expiryTime !== undefined && { expiryTime: settings.expiryTime }),
      ...(privateKey !== undefined && { privateKey }),
      ...(publicKey !== undefined && { publicKey }),
      ...(fingerprint !== undefined && { fingerprint }),
    },
  };
}
