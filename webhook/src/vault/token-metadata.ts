import { formatTime } from '@svault/shared';
import type { TokenMetadata } from '@svault/shared/schemas';
import type { RefreshMarks } from './refresh-marks.ts';
import { settingsOf } from './record-envelope.ts';
import type { RecordHead } from './record-store.ts';

/** What the service may know about a record (protocol section 5.3). */
export function describe(record: RecordHead, marks: Pick<RefreshMarks, 'get'>): TokenMetadata {
  const settings = settingsOf(record);
  const { expiryTime, provider } = settings;
  return {
    serviceName: record.serviceName,
    tokenType: settings.tokenType,
    createdAt: formatTime(record.createdAtMs),
    updatedAt: formatTime(record.updatedAtMs),
    ...(expiryTime !== undefined && { expiryTime }),
    hasRefreshToken: settings.hasRefreshToken,
    version: record.version,
    delivery: settings.delivery,
    allowedHosts: [...settings.allowedHosts],
    allowedHeaders: [...settings.allowedHeaders],
    empty: settings.empty,
    ...(marks.get(record.serviceName, record.version) === 'reauth_needed' && { reauthNeeded: true }),
    ...(provider !== undefined && {
      provider: {
        tokenUrl: provider.tokenUrl,
        clientId: provider.clientId,
        authMethod: provider.authMethod,
        mediated: provider.mediated,
      },
    }),
  };
}
