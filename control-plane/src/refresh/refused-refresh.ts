import { WebhookCallFailed } from '../webhook/webhook-call-failed.ts';
import type { RefreshResult } from './refresh-result.ts';

/** Where a webhook asks us to come again and says no time. */
const RETRY_AFTER_SECONDS = 5;

/** What a call that brought nothing means for a refresh (protocol.md section 9). @throws what is no failed call */
export function outcomeOfFailure(error: unknown): RefreshResult {
  if (!(error instanceof WebhookCallFailed)) throw error;
  const { retryAfterSeconds = RETRY_AFTER_SECONDS } = error;
  switch (error.code) {
    case 'NOT_FOUND':
    case 'NOT_REFRESHABLE':
    case 'EMPTY_TOKEN':
      return { outcome: 'not_refreshable' };
    case 'REAUTH_NEEDED':
      return { outcome: 'reauth_needed' };
    case 'RATE_LIMITED':
      return { outcome: 'limited', retryAfterSeconds };
    case 'REFRESH_BUSY':
      return { outcome: 'busy', retryAfterSeconds };
    // Between two calls the record was stored anew, or somebody took so long that the lease ended.
    case 'REFRESH_NEEDED':
    case 'VERSION_CONFLICT':
    case 'LEASE_EXPIRED':
    case 'PROVIDER_ERROR':
    case 'PROVIDER_TIMEOUT':
      return { outcome: 'failed' };
    default:
      return { outcome: 'webhook_unavailable', cause: error };
  }
}
