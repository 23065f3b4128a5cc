import { type Clock, Secret, randomToken } from '@svault/shared';
import type { RefreshLease, RefreshOutcome } from '@svault/shared/schemas';
import { ApiError } from '../errors.ts';
import type { SlidingWindow } from '../sliding-window.ts';
import type { SealedProvider } from '../vault/record.ts';
import type { Vault } from '../vault/vault.ts';
import type { RefreshMarks } from '../vault/record-store.ts';
import type { RefreshOnce, RefreshResult } from './refresh-once.ts';
import { isRefreshable, refreshRefusal } from './refresh.ts';
import type { ClientAuthentication } from './provider-call.ts';
import type { TokenLock, TokenLocks } from './token-locks.ts';

/** PROTOCOL.md section 7. */
const LEASE_SECONDS = 30;
/** PROTOCOL.md section 7: how long an `update` may be repeated. */
const RECORDED_MS = 5 * 60_000;

interface Lease {
  readonly serviceName: string;
  /** Of the record: another version may name another provider. */
  readonly version: number;
  readonly provider: SealedProvider;
  /** Whether the record has the client's secret. */
  readonly hasSecret: boolean;
  readonly lock: TokenLock;
  outcome: Promise<RefreshOutcome> | undefined;
  /** Monotonic; set with the outcome. */
  endedAtMs: number | undefined;
}

/** The two phases of `POST /v1/refresh` (PROTOCOL.md section 7): the control plane authenticates, the webhook calls. */
export function createLeases(deps: {
  readonly vault: Pick<Vault, 'open'>;
  readonly marks: Pick<RefreshMarks, 'get'>;
  readonly limit: Pick<SlidingWindow, 'retryAfterSeconds'>;
  readonly locks: TokenLocks;
  readonly once: RefreshOnce;
  readonly clock: Pick<Clock, 'monotonic'>;
}) {
  const { vault, marks, limit, locks, once, clock } = deps;
  const leases = new Map<string, Lease>();

  const isForgotten = ({ lock, outcome, endedAtMs }: Lease): boolean =>
    outcome === undefined
      ? lock.hasEnded()
      : endedAtMs !== undefined && clock.monotonic() >= endedAtMs + RECORDED_MS;
  const evictExpired = (): void => {
    for (const [id, lease] of leases) if (isForgotten(lease)) leases.delete(id);
  };

  const refreshUnder = async (lease: Lease, given: ClientAuthentication): Promise<RefreshOutcome> => {
    const { serviceName, version, lock } = lease;
    try {
      const record = vault.open(serviceName);
      // The client authentication is for the provider of the record in the lease, and for no other (REF-15).
      if (record?.version !== version) throw leaseExpired();
      const sealed = record.secret.reveal().clientSecret;
      const clientSecret = given.clientSecret ?? (sealed === undefined ? undefined : new Secret(sealed));
      const authentication = { ...given, clientSecret };
      return outcomeOf(await once.run(record, { cause: 'lease', authentication }));
    } finally {
      lease.endedAtMs = clock.monotonic();
      lock.release();
    }
  };

  return {
    /** @throws ApiError NOT_FOUND, NOT_REFRESHABLE, REAUTH_NEEDED; RATE_LIMITED, REFRESH_BUSY with `retryAfter` */
    get: (serviceName: string): RefreshLease => {
      evictExpired();
      const record = vault.open(serviceName);
      if (record === undefined) throw new ApiError('NOT_FOUND', 'there is no credential of that name');
      const { version, settings, secret } = record;
      const { provider, expiryTime } = settings;
      if (provider === undefined || !isRefreshable(record))
        throw new ApiError('NOT_REFRESHABLE', 'the credential has no provider or no refresh token');
      if (marks.get(serviceName, version) === 'reauth_needed')
        throw refreshRefusal({ outcome: 'reauth_needed' });
      const retryAfterSeconds = limit.retryAfterSeconds(serviceName);
      if (retryAfterSeconds !== undefined) throw refreshRefusal({ outcome: 'limited', retryAfterSeconds });
      const lock = locks.tryLock(serviceName, LEASE_SECONDS * 1000);
      if ('busySeconds' in lock) {
        const details = { retryAfter: lock.busySeconds };
        throw new ApiError('REFRESH_BUSY', 'the credential is being refreshed', { details });
      }
      const leaseId = randomToken();
      const hasSecret = secret.reveal().clientSecret !== undefined;
      const fresh = { outcome: undefined, endedAtMs: undefined };
      leases.set(leaseId, { serviceName, version, provider, hasSecret, lock, ...fresh });
      const { tokenUrl, clientId, authMethod, scope } = provider;
      return {
        leaseId,
        leaseSeconds: LEASE_SECONDS,
        tokenUrl,
        clientId,
        authMethod,
        ...(scope !== undefined && { scope }),
        ...(expiryTime !== undefined && { expiryTime }),
      };
    },
    /**
     * Refreshes under a lease, once: a repeated call gets the answer of the first.
     *
     * @throws ApiError LEASE_EXPIRED; INVALID_REQUEST if the client authentication is missing, which leaves the lease
     */
    update: async (leaseId: string, authentication: ClientAuthentication): Promise<RefreshOutcome> => {
      const lease = leases.get(leaseId);
      if (lease === undefined || isForgotten(lease)) throw leaseExpired();
      if (lease.outcome !== undefined) return lease.outcome;
      const missing = missingOf(lease, authentication);
      if (missing !== undefined) throw new ApiError('INVALID_REQUEST', `${missing} is missing`);
      lease.lock.keep();
      lease.outcome = refreshUnder(lease, authentication);
      // Without an outcome there is nothing to repeat: the control plane gets a new lease.
      lease.outcome.catch(() => leases.delete(leaseId));
      return lease.outcome;
    },
  };
}

export type Leases = ReturnType<typeof createLeases>;

function missingOf(
  { provider, hasSecret }: Lease,
  { clientSecret, clientAssertion }: ClientAuthentication,
): string | undefined {
  switch (provider.authMethod) {
    case 'client_secret_basic':
    case 'client_secret_post':
      return clientSecret === undefined && !hasSecret ? 'clientSecret' : undefined;
    case 'private_key_jwt':
      return clientAssertion === undefined ? 'clientAssertion' : undefined;
    case 'none':
      return undefined;
  }
}

function outcomeOf(result: RefreshResult): RefreshOutcome {
  switch (result.outcome) {
    case 'refreshed': {
      const { expiryTime } = result.record.settings;
      return { outcome: 'refreshed', ...(expiryTime !== undefined && { expiryTime }) };
    }
    case 'reauth_needed':
      return {
        outcome: 'invalid_grant',
        ...(result.reason !== undefined && { providerReason: result.reason }),
      };
    case 'failed':
      return { outcome: 'provider_error', providerReason: result.reason };
    case 'limited':
      throw refreshRefusal(result);
    case 'changed':
      throw leaseExpired();
  }
}

const leaseExpired = (): Error =>
  new ApiError('LEASE_EXPIRED', 'there is no such lease any more; get a new one');
