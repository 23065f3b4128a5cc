import { migrateCommands } from '@svault/server-kit/migrate-commands';
import { readAppliedSteps } from '@svault/server-kit/sqlite';
import { webhookConfig } from '../config/config.ts';
import { MIGRATIONS } from '../sqlite/schema.ts';
import { vaultPath } from '../sqlite/vault-file.ts';
import { withVault } from './with-vault.ts';

export const MIGRATE_COMMANDS = migrateCommands({
  steps: MIGRATIONS,
  read: (env) => {
    const place = vaultPath(webhookConfig(env).dataDir);
    return Promise.resolve({ place, applied: readAppliedSteps(place) ?? [] });
  },
  apply: (surroundings) => withVault(surroundings, () => Promise.resolve()),
});
