import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { ClaimStore } from './claim-store.ts';
import type { TimeFloor } from './time-floor.ts';

/** So many claims leave per transaction: about a millisecond in which no request is served. */
const BATCH = 500;
/** An idle webhook writes its floor down this often. */
const IDLE_SAVE_MS = 60_000;

/**
 * Forgets every claim below the time floor. The floor is written in the same transaction, so what was forgotten
 * cannot live again under a clock that is set back, nor after a restart.
 */
export async function forgetPastClaims(deps: {
  readonly claims: Pick<ClaimStore, 'forget'>;
  readonly floor: TimeFloor;
  readonly commit: GroupCommit;
}): Promise<void> {
  const { claims, floor, commit } = deps;
  const forgetSome = (): boolean => {
    const forgotten = claims.forget(floor.nowMs(), BATCH);
    if (forgotten > 0) floor.save();
    else floor.saveIfRisen(IDLE_SAVE_MS);
    return forgotten === BATCH;
  };
  while (await commit.run(forgetSome));
}
