import { migrateCommands } from '@svault/server-kit/migrate-commands';
import { controlPlaneConfig } from '../config/config.ts';
import { MIGRATIONS } from '../store/migrations/migrations.ts';
import { readSchema } from '../store/open-database.ts';
import { withDatabase } from './with-database.ts';

export const MIGRATE_COMMANDS = migrateCommands({
  steps: MIGRATIONS,
  read: async (env) => ({
    place: 'the database',
    applied: await readSchema(controlPlaneConfig(env).database),
  }),
  apply: ({ env, clock }) => withDatabase(controlPlaneConfig(env), clock, () => Promise.resolve()),
});
