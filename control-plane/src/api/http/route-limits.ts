import type { IncomingMessage } from 'node:http';
import type { Id } from '@svault/shared';
import type { Actor } from '../../core/actor.ts';
import { ApiError } from '../../core/errors.ts';
import { addressKey } from '../../core/address.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { Limits } from '../../limits/limits.ts';
import { type QuotaNoun, quotaScope } from '../../core/quotas.ts';
import type { AccountScope, AddressScope, CountedScope, TargetScope } from '../../limits/scopes.ts';
import type { Stores } from '../../core/stores.ts';
import type { ClientAddress } from './client-address.ts';

export type RouteLimits = ReturnType<typeof createRouteLimits>;

/** Counts a request against a limit of its route. Each rejects with RATE_LIMITED and `retryAfter` where there is no room. */
export function createRouteLimits({
  limiter,
  limits,
  clientAddress,
}: {
  readonly limiter: Pick<Limiter, 'take'>;
  readonly limits: Pick<Limits, 'counter' | 'quota'>;
  readonly clientAddress: ClientAddress;
}) {
  const count = async (scope: CountedScope, key: string, vaultId?: Id<'vlt'>): Promise<void> => {
    const verdict = await limiter.take(limits.counter(scope, key), vaultId);
    if (verdict.allowed) return;
    throw new ApiError('RATE_LIMITED', 'Too many requests.', {
      details: { retryAfter: verdict.retryAfterSeconds },
      reason: scope,
    });
  };
  const keyOf = (req: IncomingMessage, apart: string | undefined): string =>
    [addressKey(clientAddress(req)), apart ?? []].flat().join(' ');
  return {
    /** A request of a person that makes or changes something. */
    countWrite: ({ userId, vaultId }: Pick<Actor, 'userId' | 'vaultId'>) =>
      count('management_write', userId, vaultId),
    /**
     * Asked in the transaction that made something, once it has written its event: those of an account wait for one another
     * there, so that each counts what the others made.
     *
     * @throws ApiError QUOTA_EXCEEDED where the account now has more of a kind than it may
     */
    requireWithin: async (noun: QuotaNoun, vaultId: Id<'vlt'>, stores: Pick<Stores, 'quotas'>) => {
      const limit = limits.quota(noun);
      if ((await stores.quotas.count(vaultId, noun, limit + 1)) <= limit) return;
      const what = noun.replaceAll('_', ' ');
      const setting = `SV_LIMIT_${quotaScope(noun).toUpperCase()}`;
      throw new ApiError(
        'QUOTA_EXCEEDED',
        `An account has at most ${limit} ${what}. Delete some, or have the operator of the service raise ${setting}.`,
        { details: { limit } },
      );
    },
    countAccount: (scope: AccountScope, vaultId: Id<'vlt'>) => count(scope, vaultId, vaultId),
    /** @param target id of a thing of the account */
    countTarget: (scope: TargetScope, vaultId: Id<'vlt'>, target: string) => count(scope, target, vaultId),
    /** @param apart `form`: counted separately from the page that it is on */
    countAddress: (scope: AddressScope, req: IncomingMessage, apart?: 'form') =>
      count(scope, keyOf(req, apart)),
    /**
     * Per address and client.
     *
     * @param clientId of a client there is: what callers make up would give them a counter of their own each time;
     *   undefined: it is counted with all else that comes from the address and is no client's
     */
    countClient: (scope: 'oauth_token', clientId: string | undefined, req: IncomingMessage) =>
      count(scope, keyOf(req, clientId)),
  };
}
