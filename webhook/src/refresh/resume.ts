import type { Logger } from '@svault/server-kit/logger';
import { AppError } from '@svault/shared';
import type { Vault } from '../vault/vault.ts';
import type { RefreshMarks } from '../vault/refresh-marks.ts';
import type { Refresh } from './refresh.ts';

/** Providers that are called at once at a start. */
const AT_ONCE = 4;

/**
 * Tries each record once whose refresh the last stop cut off, so that a token which was rotated unseen is found out now
 * and not when it is needed (protocol section 7). Those that only the service can refresh wait for it.
 */
export async function resumeRefreshes(deps: {
  readonly vault: Pick<Vault, 'describe'>;
  readonly marks: Pick<RefreshMarks, 'mayBeSpent'>;
  readonly refresh: Pick<Refresh, 'own'>;
  readonly logger: Pick<Logger, 'error'>;
}): Promise<void> {
  const { vault, marks, refresh, logger } = deps;
  const cutOff = marks
    .mayBeSpent()
    .filter(({ serviceName }) => vault.describe(serviceName)?.provider?.mediated === false);
  const work = async (): Promise<void> => {
    for (let next = cutOff.shift(); next !== undefined; next = cutOff.shift())
      await refresh.own(next.serviceName, next.version, 'start').catch((error: unknown) => {
        // The program stops: the next start goes on.
        if (error instanceof AppError && error.code === 'UNAVAILABLE') cutOff.length = 0;
        else logger.error({ err: error }, 'a refresh could not be taken up again');
      });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
