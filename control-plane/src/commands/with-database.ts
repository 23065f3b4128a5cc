import { silentLogger } from '@svault/server-kit/logger';
import { SettingsError } from '@svault/server-kit/settings';
import type { Clock } from '@svault/shared';
import type { ControlPlaneConfig } from '../config/config.ts';
import { rootKeysOf } from '../context.ts';
import type { Database, OpenOptions } from '../store/database.ts';
import { openDatabase } from '../store/open-database.ts';

/**
 * The path of the database's file.
 *
 * @param otherwise what to do where the state is in PostgreSQL
 * @throws SettingsError where it is
 */
export function sqliteFileOf({ database }: ControlPlaneConfig, otherwise: string): string {
  if (database.kind === 'sqlite') return database.path;
  throw new SettingsError([`SV_DATABASE_URL names PostgreSQL: ${otherwise}`]);
}

/** How a subcommand opens what a `serve` has made. */
export const asTool = (clock: Clock): OpenOptions => ({ clock, logger: silentLogger, opener: 'tool' });

/**
 * Runs one piece of work on the database of the settings, while `serve` may be running.
 *
 * @throws NoDatabase: a subcommand does not make one
 */
export const withDatabase = <T>(
  config: ControlPlaneConfig,
  clock: Clock,
  work: (database: Database) => Promise<T>,
): Promise<T> => closing(openDatabase(config.database, rootKeysOf(config), asTool(clock)), work);

/** Closes what was opened once the work on it has ended. */
export async function closing<Opened extends { close(): Promise<void> }, T>(
  opening: Promise<Opened>,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  const opened = await opening;
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}
