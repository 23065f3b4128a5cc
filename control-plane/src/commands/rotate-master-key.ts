import type { Subcommand } from '@svault/server-kit/program';
import { SettingsError } from '@svault/server-kit/settings';
import { controlPlaneConfig } from '../config/config.ts';
import { rewrapDataKey } from '../store/data-encryption-key.ts';
import { withDatabase } from './with-stores.ts';

/** One row in one transaction: a kill leaves either the former state or the new one, and it can be repeated. */
export const rotateMasterKey: Subcommand = {
  summary: 'put the database under SV_MASTER_KEY_NEXT',
  operands: 0,
  run: async (_operands, { env, out }) => {
    const config = controlPlaneConfig(env);
    const { masterKey: current, masterKeyNext: next } = config;
    if (next === undefined) throw new SettingsError(['SV_MASTER_KEY_NEXT is missing: the key to rotate to']);
    await withDatabase(config, ({ kysely }) => rewrapDataKey(kysely, { current, next }));
    out('The database is under the new master key. Set SV_MASTER_KEY to it before the next start.\n');
  },
};
