import type { Id } from '@svault/shared';
import type { Stores } from '../core/stores.ts';
import { type Limiter, type Lockout, MAX_LOCKOUTS } from '../limits/limiter.ts';

/** A lockout with the name that people know the caller by. */
export interface NamedLockout extends Lockout {
  /** Undefined for a caller that is gone without a trace. */
  readonly name: string | undefined;
}

/** Who of an account is in the penalty box; the longest lockouts first, and no more than {@link MAX_LOCKOUTS}. */
export async function namedLockouts(
  {
    limiter,
    stores,
  }: { readonly limiter: Pick<Limiter, 'lockouts'>; readonly stores: Pick<Stores, 'agents' | 'proxies'> },
  vaultId: Id<'vlt'>,
): Promise<readonly NamedLockout[]> {
  const lockouts = (await limiter.lockouts(vaultId))
    .toSorted((a, b) => b.retryAfterSeconds - a.retryAfterSeconds || a.callerId.localeCompare(b.callerId))
    .slice(0, MAX_LOCKOUTS);
  return Promise.all(
    lockouts.map(async (lockout) => {
      const { callerId } = lockout;
      const keeper = callerId.startsWith('agt_') ? stores.agents : stores.proxies;
      return { ...lockout, name: (await keeper.get(vaultId, callerId))?.name };
    }),
  );
}
