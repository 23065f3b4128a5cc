import type { FailurePause } from '@svault/server-kit/failure-pause';
import { type AppError, type WebhookErrorCode } from '@svault/shared';
import { refusal } from '../errors.ts';
import type { Vault } from '../vault/vault.ts';
import type { RefreshCause, RefreshOnce, RefreshResult } from './refresh-once.ts';
import { isRefreshable } from './grant.ts';
import type { Turns } from './turns.ts';

/** The webhook's own refreshes. */
export interface Refresh {
  /**
   * Refreshes a record with the client authentication that is sealed with it: one call to the provider for all who ask
   * at the time. Waits for the service's lease, and calls nobody where that has refreshed the record. Who needs the token
   * at once (cause `use`) is answered with the last failure while a pause holds.
   *
   * @param seenVersion what the caller found too old
   * @throws AppError UNAVAILABLE at the stop of the program; errors of the database
   */
  own(serviceName: string, seenVersion: number, cause: RefreshCause): Promise<RefreshResult>;
  /** Stores what a failing disk did not take; to be called again and again. */
  storeUnstored(): Promise<void>;
  /** Nobody waits for a lease any longer, and no call begins; those under way go on. */
  leave(): void;
  /** The same; resolves once the calls under way are stored. */
  close(): Promise<void>;
}

/** A refresh that failed for no fault of the refresh token. */
type Failure = Extract<RefreshResult, { outcome: 'failed' }>;

const pauseKey = (serviceName: string, version: number): string => `${version} ${serviceName}`;

/** A refresh under way, of one version. */
interface Flight {
  readonly version: number;
  readonly result: Promise<RefreshResult>;
}

export function createRefresh(deps: {
  readonly vault: Pick<Vault, 'open'>;
  readonly once: RefreshOnce;
  readonly turns: Turns;
  /** By version and name. */
  readonly pause: FailurePause<Failure>;
}): Refresh {
  const { vault, once, turns, pause } = deps;
  const flights = new Map<string, Flight>();

  const fly = async (
    serviceName: string,
    seenVersion: number,
    cause: RefreshCause,
  ): Promise<RefreshResult> => {
    const turn = await turns.take(serviceName);
    try {
      const record = vault.open(serviceName);
      if (record?.version !== seenVersion || !isRefreshable(record)) return { outcome: 'changed' };
      const result = await once.run(record, { cause });
      if (result.outcome !== 'limited')
        pause.note(pauseKey(serviceName, seenVersion), result.outcome === 'failed' ? result : undefined);
      return result;
    } finally {
      turn.release();
    }
  };

  const own: Refresh['own'] = (serviceName, seenVersion, cause) => {
    const underWay = flights.get(serviceName);
    if (underWay?.version === seenVersion) return underWay.result;
    // What becomes of another version says nothing of this one.
    const again = (): Promise<RefreshResult> => own(serviceName, seenVersion, cause);
    if (underWay !== undefined) return underWay.result.then(again, again);
    const failure = cause === 'use' ? pause.failureOf(pauseKey(serviceName, seenVersion)) : undefined;
    if (failure !== undefined) return Promise.resolve(failure);
    const result = fly(serviceName, seenVersion, cause).finally(() => flights.delete(serviceName));
    flights.set(serviceName, { version: seenVersion, result });
    return result;
  };

  const leave = (): void => {
    turns.close();
    once.leave();
  };
  return {
    own,
    storeUnstored: () => once.storeUnstored(),
    leave,
    close: () => {
      leave();
      return once.close();
    },
  };
}

/** What a caller is told of a refresh that gave nothing (protocol section 5.4). */
export function refreshRefusal(
  result: Exclude<RefreshResult, { outcome: 'refreshed' | 'changed' }>,
): AppError<WebhookErrorCode> {
  switch (result.outcome) {
    case 'reauth_needed':
      return refusal(
        'REAUTH_NEEDED',
        'the refresh token is not good any more: the owner has to authorise anew',
      );
    case 'failed':
      return refusal(result.code, 'the token has expired and could not be refreshed');
    case 'limited':
      return refusal('RATE_LIMITED', 'this token was refreshed too often', {
        details: { retryAfter: result.retryAfterSeconds },
      });
  }
}

/** Protocol section 5.4: only the service can authenticate the client. */
export function refreshNeeded(): AppError<WebhookErrorCode> {
  return refusal('REFRESH_NEEDED', 'the token has expired and the service has to refresh it', {
    details: { retryAfter: 5 },
  });
}
