import { type Clock, Secret, randomToken } from '@svault/shared';
import type { RefreshLease, RefreshOutcome } from '@svault/shared/schemas';
import { refusal } from '../errors.ts';
import type { SealedProvider } from '../vault/record.ts';
import type { Vault } from '../vault/vault.ts';
import type { CallLimit } from './call-limit.ts';
import type { RefreshMarks } from '../vault/refresh-marks.ts';
import type { RefreshOnce, RefreshResult } from './refresh-once.ts';
import { refreshRefusal } from './refresh.ts';
import { isRefreshable } from './grant.ts';
import type { ClientAuthentication } from './token-request.ts';
import type { Turn, Turns } from './turns.ts';

/** The two phases of `POST /v1/refresh` (protocol section 7): the service authenticates, the webhook calls. */
export interface Leases {
  /** @throws AppError NOT_FOUND, NOT_REFRESHABLE, REAUTH_NEEDED, RATE_LIMITED, REFRESH_BUSY, the last two with `retryAfter` */
  get(serviceName: string): RefreshLease;
  /**
   * Refreshes under a lease, once: the same call again answers what the first one did.
   *
   * @throws AppError LEASE_EXPIRED; INVALID_REQUEST where the client authentication is missing, which leaves the lease
   */
  update(leaseId: string, authentication: ClientAuthentication): Promise<RefreshOutcome>;
}

/** Protocol section 7. */
const LEASE_SECONDS = 30;
/** Protocol section 7: so long an `update` may come again. */
const RECORDED_MS = 5 * 60_000;

interface Lease {
  readonly serviceName: string;
  /** Of the record: another one may name another provider. */
  readonly version: number;
  readonly provider: SealedProvider;
  /** Whether the record itself has what the client authenticates by. */
  readonly hasSecret: boolean;
  readonly turn: Turn;
  outcome: Promise<RefreshOutcome> | undefined;
  /** Monotonic; once the outcome is there. */
  endedAtMs: number | undefined;
}

export function createLeases(deps: {
  readonly vault: Pick<Vault, 'open'>;
  readonly marks: Pick<RefreshMarks, 'get'>;
  readonly limit: Pick<CallLimit, 'retryAfterSeconds'>;
  readonly turns: Turns;
  readonly once: RefreshOnce;
  readonly clock: Pick<Clock, 'monotonic'>;
}): Leases {
  const { vault, marks, limit, turns, once, clock } = deps;
  const leases = new Map<string, Lease>();

  const isForgotten = ({ turn, outcome, endedAtMs }: Lease): boolean =>
    outcome === undefined
      ? turn.isOver()
      : endedAtMs !== undefined && clock.monotonic() >= endedAtMs + RECORDED_MS;
  const sweep = (): void => {
    for (const [id, lease] of leases) if (isForgotten(lease)) leases.delete(id);
  };

  const refreshUnder = async (lease: Lease, given: ClientAuthentication): Promise<RefreshOutcome> => {
    const { serviceName, version, turn } = lease;
    try {
      const record = vault.open(serviceName);
      // What the service gave is for the provider of the record it asked about, and for no other (REF-15).
      if (record?.version !== version) throw leaseExpired();
      const sealed = record.secret.reveal().clientSecret;
      const clientSecret = given.clientSecret ?? (sealed === undefined ? undefined : new Secret(sealed));
      const authentication = { ...given, clientSecret };
      return outcomeOf(await once.run(record, { cause: 'lease', authentication }));
    } finally {
      lease.endedAtMs = clock.monotonic();
      turn.release();
    }
  };

  return {
    get: (serviceName) => {
      sweep();
      const record = vault.open(serviceName);
      if (record === undefined) throw refusal('NOT_FOUND', 'there is no credential of that name');
      const { version, settings, secret } = record;
      const { provider, expiryTime } = settings;
      if (provider === undefined || !isRefreshable(record))
        throw refusal('NOT_REFRESHABLE', 'the credential has no provider or no refresh token');
      if (marks.get(serviceName, version) === 'reauth_needed')
        throw refreshRefusal({ outcome: 'reauth_needed' });
      const retryAfterSeconds = limit.retryAfterSeconds(serviceName);
      if (retryAfterSeconds !== undefined) throw refreshRefusal({ outcome: 'limited', retryAfterSeconds });
      const turn = turns.takeFor(serviceName, LEASE_SECONDS * 1000);
      if ('busySeconds' in turn) {
        const details = { retryAfter: turn.busySeconds };
        throw refusal('REFRESH_BUSY', 'the credential is being refreshed', { details });
      }
      const leaseId = randomToken();
      const hasSecret = secret.reveal().clientSecret !== undefined;
      const fresh = { outcome: undefined, endedAtMs: undefined };
      leases.set(leaseId, { serviceName, version, provider, hasSecret, turn, ...fresh });
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
    update: async (leaseId, authentication) => {
      const lease = leases.get(leaseId);
      if (lease === undefined || isForgotten(lease)) throw leaseExpired();
      if (lease.outcome !== undefined) return lease.outcome;
      const missing = missingOf(lease, authentication);
      if (missing !== undefined) throw refusal('INVALID_REQUEST', `${missing} is missing`);
      lease.turn.keep();
      lease.outcome = refreshUnder(lease, authentication);
      // Without an outcome there is nothing to record: the service begins anew.
      lease.outcome.catch(() => leases.delete(leaseId));
      return lease.outcome;
    },
  };
}

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
      return { outcome: 'invalid_grant' };
    case 'failed':
      return { outcome: 'provider_error' };
    case 'limited':
      throw refreshRefusal(result);
    case 'changed':
      throw leaseExpired();
  }
}

const leaseExpired = (): Error => refusal('LEASE_EXPIRED', 'there is no such lease any more; get a new one');
