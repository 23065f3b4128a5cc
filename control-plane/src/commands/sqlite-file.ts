import { SettingsError } from '@svault/server-kit/settings';
import type { ControlPlaneConfig } from '../config/config.ts';

/**
 * The path of the database's file.
 *
 * @throws SettingsError where the state is in PostgreSQL, whose own tools copy it
 */
export function sqliteFileOf({ database }: ControlPlaneConfig): string {
  if (database.kind === 'sqlite') return database.path;
  throw new SettingsError([
    'SV_DATABASE_URL names PostgreSQL: make backups with pg_dump and bring them back with pg_restore',
  ]);
}
