import { createFailurePause } from '@svault/server-kit/failure-pause';
import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { Logger } from '@svault/server-kit/logger';
import { AppError, type Clock } from '@svault/shared';
import type { Egress } from '@svault/shared/egress';
import type { AuditLog } from '../audit/audit-log.ts';
import { createSlidingWindow } from '../sliding-window.ts';
import type { RefreshMarks } from '../vault/record-store.ts';
import type { Vault } from '../vault/vault.ts';
import { createLeases } from './lease.ts';
import { createNotifyRefresh } from './notify.ts';
import { type RefreshMetrics, createRefreshOnce } from './refresh-once.ts';
import { createRefresh } from './refresh.ts';
import { createTokenLocks } from './token-locks.ts';

/** PROTOCOL.md section 7: more provider calls an hour for one token answer 429. */
const CALLS_PER_HOUR = 10;
/** Providers that are called concurrently at a start. */
const MAX_CONCURRENT_RESUMES = 4;

/** Everything that refreshes tokens (PROTOCOL.md section 7): one call limit and one lock for each of them. */
export function createRefreshing(deps: {
  readonly vault: Pick<Vault, 'open' | 'openAll' | 'describe' | 'replaceNow'>;
  readonly marks: RefreshMarks;
  readonly egress: Pick<Egress, 'request'>;
  readonly audit: Pick<AuditLog, 'appendNow'>;
  readonly commit: GroupCommit;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn' | 'error'>;
  readonly metrics: RefreshMetrics;
}) {
  const { vault, marks, clock, logger } = deps;
  const locks = createTokenLocks(clock);
  const limit = createSlidingWindow({ clock, limit: CALLS_PER_HOUR, windowMs: 3_600_000 });
  const once = createRefreshOnce({ ...deps, limit });
  const refresh = createRefresh({ ...deps, once, locks, pause: createFailurePause(clock) });

  /**
   * Tries each record once whose refresh the last stop interrupted, so that a token that was rotated but not stored is
   * found at the start and not at its next use. Records that only the control plane can refresh wait for it. For serve,
   * once.
   */
  const resume = async (): Promise<void> => {
    const interrupted = marks
      .mayBeSpent()
      .filter(({ serviceName }) => vault.describe(serviceName)?.provider?.mediated === false);
    const work = async (): Promise<void> => {
      for (let next = interrupted.shift(); next !== undefined; next = interrupted.shift())
        await refresh.own(next.serviceName, next.version, 'start').catch((error: unknown) => {
          // The program stops: the next start continues.
          if (error instanceof AppError && error.code === 'UNAVAILABLE') interrupted.length = 0;
          else logger.error({ err: error }, 'a refresh could not be taken up again');
        });
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENT_RESUMES }, work));
  };

  return {
    ...refresh,
    leases: createLeases({ ...deps, limit, locks, once }),
    notify: createNotifyRefresh({ ...deps, limit, refresh }),
    resume,
  };
}
