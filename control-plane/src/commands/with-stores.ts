import { existsSync } from 'node:fs';
import { systemClock } from '@svault/shared';
import type { ControlPlaneConfig } from '../config/config.ts';
import { operatorKeys } from '../context.ts';
import { type Database, openDatabase } from '../store/database.ts';
import { createUnitOfWork } from '../store/unit-of-work-kysely.ts';
import type { Stores } from '../unit-of-work.ts';

/**
 * Runs one piece of work on the database of the settings, beside a running `serve`.
 *
 * @throws Error when there is no database yet: a subcommand does not make one
 */
export async function withDatabase<T>(
  config: ControlPlaneConfig,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  if (!existsSync(config.databasePath)) throw new Error(`there is no database at ${config.databasePath}`);
  const database = await openDatabase(config.databasePath, operatorKeys(config));
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** The same, in one transaction over all stores. */
export function withStores<T>(config: ControlPlaneConfig, work: (stores: Stores) => Promise<T>): Promise<T> {
  return withDatabase(config, ({ kysely }) => createUnitOfWork(kysely, systemClock).runAcross(work));
}
