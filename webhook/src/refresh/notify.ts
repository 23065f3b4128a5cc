import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@svault/server-kit/logger';
import type { RefreshAccepted, RefreshDone, RefreshNotify } from '@svault/shared/schemas';
import { ApiError } from '../errors.ts';
import type { SlidingWindow } from '../sliding-window.ts';
import type { RefreshMarks } from '../vault/record-store.ts';
import type { OpenRecord, Vault } from '../vault/vault.ts';
import { PROVIDER_CALL_MS } from './provider-call.ts';
import type { RefreshResult } from './refresh-once.ts';
import { type Refresh, isRefreshable, mustBeRefreshedHere, refreshRefusal } from './refresh.ts';

/** Longer than a provider call, shorter than the control plane waits (PROTOCOL.md section 2: 10 s). */
const WAIT_MS = PROVIDER_CALL_MS + 1_000;

/**
 * Answers the control plane's notice that a token needs a refresh (PROTOCOL.md section 7). It accepts `expiring` at
 * once; for `expired` and `manual` it waits for the refresh.
 *
 * @throws ApiError NOT_FOUND, REAUTH_NEEDED, REFRESH_NEEDED for a mediated provider, RATE_LIMITED with `retryAfter`
 */
export type NotifyRefresh = (
  notice: Pick<RefreshNotify, 'serviceName' | 'reason'>,
) => Promise<RefreshAccepted | RefreshDone>;

export function createNotifyRefresh(deps: {
  readonly vault: Pick<Vault, 'open'>;
  readonly marks: Pick<RefreshMarks, 'get'>;
  readonly limit: Pick<SlidingWindow, 'retryAfterSeconds'>;
  readonly refresh: Pick<Refresh, 'own'>;
  readonly logger: Pick<Logger, 'error'>;
}): NotifyRefresh {
  const { vault, marks, limit, refresh, logger } = deps;

  const doneOf = (result: RefreshResult, serviceName: string): RefreshDone => {
    switch (result.outcome) {
      case 'refreshed':
        return refreshedTo(result.record);
      case 'changed': {
        // Another request stored a credential while this one waited.
        const live = vault.open(serviceName);
        return live === undefined ? { outcome: 'not_refreshable' } : refreshedTo(live);
      }
      case 'limited':
        throw refreshRefusal(result);
      case 'failed':
      case 'reauth_needed':
        return { outcome: 'failed', ...(result.reason !== undefined && { providerReason: result.reason }) };
    }
  };

  return async ({ serviceName, reason }) => {
    const record = vault.open(serviceName);
    if (record === undefined) throw new ApiError('NOT_FOUND', 'there is no credential of that name');
    if (!isRefreshable(record)) return { outcome: 'not_refreshable' };
    mustBeRefreshedHere(record, marks);
    const retryAfterSeconds = limit.retryAfterSeconds(serviceName);
    if (retryAfterSeconds !== undefined) throw refreshRefusal({ outcome: 'limited', retryAfterSeconds });

    const result = refresh.own(serviceName, record.version, 'notify');
    const waited = new AbortController();
    const tooLong = delay(reason === 'expiring' ? 0 : WAIT_MS, undefined, {
      ref: false,
      signal: waited.signal,
    }).catch(() => undefined);
    try {
      const done = await Promise.race([result, tooLong]);
      if (done !== undefined) return doneOf(done, serviceName);
      // The refresh continues without a caller that waits for it.
      result.catch((error: unknown) => logger.error({ err: error }, 'a refresh failed'));
      return { accepted: true };
    } finally {
      waited.abort();
    }
  };
}

function refreshedTo({ settings: { expiryTime } }: OpenRecord): RefreshDone {
  return { outcome: 'refreshed', ...(expiryTime !== undefined && { expiryTime }) };
}
