import { createFailurePause } from '@svault/server-kit/failure-pause';
import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { Logger } from '@svault/server-kit/logger';
import type { Clock } from '@svault/shared';
import type { Egress } from '@svault/shared/egress';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Vault } from '../vault/vault.ts';
import { createCallLimit } from './call-limit.ts';
import { type Leases, createLeases } from './lease.ts';
import { type NotifyRefresh, createNotifyRefresh } from './notify.ts';
import type { RefreshMarks } from '../vault/refresh-marks.ts';
import { createRefreshOnce } from './refresh-once.ts';
import { type Refresh, createRefresh } from './refresh.ts';
import { resumeRefreshes } from './resume.ts';
import { createTurns } from './turns.ts';

/** Everything that refreshes tokens (protocol section 7): one count and one turn for each of them, whoever asks. */
export interface Refreshing extends Refresh {
  readonly leases: Leases;
  readonly notify: NotifyRefresh;
  /** Takes up what the last stop cut off; to be called once, by who serves. */
  resume(): Promise<void>;
}

export function createRefreshing(deps: {
  readonly vault: Pick<Vault, 'open' | 'openAll' | 'describe' | 'replaceNow'>;
  readonly marks: RefreshMarks;
  readonly egress: Pick<Egress, 'request'>;
  readonly audit: Pick<AuditLog, 'appendNow'>;
  readonly commit: GroupCommit;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn' | 'error'>;
}): Refreshing {
  const turns = createTurns(deps.clock);
  const limit = createCallLimit(deps.clock);
  const once = createRefreshOnce({ ...deps, limit });
  const refresh = createRefresh({ ...deps, once, turns, pause: createFailurePause(deps.clock) });
  return {
    ...refresh,
    leases: createLeases({ ...deps, limit, turns, once }),
    notify: createNotifyRefresh({ ...deps, limit, refresh }),
    resume: () => resumeRefreshes({ ...deps, refresh }),
  };
}
