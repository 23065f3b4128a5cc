import type { FailurePause } from '@svault/server-kit/failure-pause';
import { ApiError } from '../errors.ts';
import type { RefreshMarks } from '../vault/record-store.ts';
import type { OpenRecord, Vault } from '../vault/vault.ts';
import type { RefreshCause, RefreshOnce, RefreshResult } from './refresh-once.ts';
import type { TokenLocks } from './token-locks.ts';

/** A refresh that failed although the refresh token may be valid. */
type Failure = Extract<RefreshResult, { outcome: 'failed' }>;

const pauseKey = (serviceName: string, version: number): string => `${version} ${serviceName}`;

/** The webhook's own refreshes. */
export function createRefresh(deps: {
  readonly vault: Pick<Vault, 'open'>;
  readonly once: RefreshOnce;
  readonly locks: TokenLocks;
  /** By version and name. */
  readonly pause: FailurePause<Failure>;
}) {
  const { vault, once, locks, pause } = deps;
  const running = new Map<string, { readonly version: number; readonly result: Promise<RefreshResult> }>();

  const run = async (
    serviceName: string,
    seenVersion: number,
    cause: RefreshCause,
  ): Promise<RefreshResult> => {
    const lock = await locks.lock(serviceName);
    try {
      const record = vault.open(serviceName);
      if (record?.version !== seenVersion || !isRefreshable(record)) return { outcome: 'changed' };
      const result = await once.run(record, { cause });
      if (result.outcome !== 'limited')
        pause.record(pauseKey(serviceName, seenVersion), result.outcome === 'failed' ? result : undefined);
      return result;
    } finally {
      lock.release();
    }
  };

  /**
   * Refreshes a record with the client authentication that is sealed with it: one call to the provider for all
   * concurrent callers. Waits for the control plane's lease, and makes no call if that has refreshed the record. With
   * cause `use`, while a pause lasts, the result is the last failure.
   *
   * @param seenVersion the version that the caller found expired
   * @throws ApiError UNAVAILABLE when the program stops; errors of the database
   */
  const own = (serviceName: string, seenVersion: number, cause: RefreshCause): Promise<RefreshResult> => {
    const underWay = running.get(serviceName);
    if (underWay?.version === seenVersion) return underWay.result;
    // The result for another version says nothing about this one.
    const again = (): Promise<RefreshResult> => own(serviceName, seenVersion, cause);
    if (underWay !== undefined) return underWay.result.then(again, again);
    const failure = cause === 'use' ? pause.failureOf(pauseKey(serviceName, seenVersion)) : undefined;
    if (failure !== undefined) return Promise.resolve(failure);
    const result = run(serviceName, seenVersion, cause).finally(() => running.delete(serviceName));
    running.set(serviceName, { version: seenVersion, result });
    return result;
  };

  /** Rejects callers that wait for a lease, and begins no call; calls under way continue. */
  const leave = (): void => {
    locks.close();
    once.leave();
  };
  return {
    own,
    storeUnstored: once.storeUnstored,
    leave,
    /** The same; resolves once the calls under way are stored. */
    close: (): Promise<void> => {
      leave();
      return once.close();
    },
  };
}

export type Refresh = ReturnType<typeof createRefresh>;

/**
 * Whether a provider can give a new token, to the webhook or with the control plane's help (PROTOCOL.md section 5.4).
 */
export function isRefreshable({ settings }: Pick<OpenRecord, 'settings'>): boolean {
  return settings.provider !== undefined && settings.hasRefreshToken;
}

/**
 * Rejects a refresh that the webhook cannot make itself.
 *
 * @throws ApiError REAUTH_NEEDED, REFRESH_NEEDED with `retryAfter`
 */
export function mustBeRefreshedHere(record: OpenRecord, marks: Pick<RefreshMarks, 'get'>): void {
  const { serviceName, version, settings } = record;
  if (marks.get(serviceName, version) === 'reauth_needed') throw refreshRefusal({ outcome: 'reauth_needed' });
  if (settings.provider?.mediated === true)
    throw new ApiError('REFRESH_NEEDED', 'the token has expired and the service has to refresh it', {
      details: { retryAfter: 5 },
    });
}

/** The error for a refresh that gave no token (PROTOCOL.md section 5.4). */
export function refreshRefusal(
  result: Exclude<RefreshResult, { outcome: 'refreshed' | 'changed' }>,
): ApiError {
  switch (result.outcome) {
    case 'reauth_needed':
      return new ApiError(
        'REAUTH_NEEDED',
        'The provider no longer accepts the refresh token. The owner signs in at the provider again and stores the new token with svault set.',
        { reason: result.reason ?? 'the provider rejected the stored refresh token earlier' },
      );
    case 'failed':
      return new ApiError(
        result.code,
        'The token has expired and its provider gave no new one. Try again later; the owner sees the reason with svault tokens refresh.',
        { reason: result.reason },
      );
    case 'limited':
      return new ApiError('RATE_LIMITED', 'this token was refreshed too often', {
        details: { retryAfter: result.retryAfterSeconds },
      });
  }
}
