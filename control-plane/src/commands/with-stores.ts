import { silentLogger } from '@svault/server-kit/logger';
import { systemClock } from '@svault/shared';
import type { ControlPlaneConfig } from '../config/config.ts';
import { rootKeysOf } from '../context.ts';
import type { Database, OpenOptions } from '../store/database.ts';
import { openDatabase } from '../store/open-database.ts';
import type { Stores } from '../core/stores.ts';

/** How a subcommand opens what a `serve` has made. */
export const AS_TOOL: OpenOptions = { clock: systemClock, logger: silentLogger, opener: 'tool' };

/**
 * Runs one piece of work on the database of the settings, while `serve` may be running.
 *
 * @throws NoDatabase: a subcommand does not make one
 */
export async function withDatabase<T>(
  config: ControlPlaneConfig,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openDatabase(config.database, rootKeysOf(config), AS_TOOL);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** The same, in one transaction over all stores. */
export function withStores<T>(config: ControlPlaneConfig, work: (stores: Stores) => Promise<T>): Promise<T> {
  return withDatabase(config, ({ unitOfWork }) => unitOfWork.runAcross(work));
}
