import type { Subcommand } from '@svault/server-kit/program';
import { backupSqlite } from '@svault/server-kit/sqlite-backup';
import { formatTime, systemClock } from '@svault/shared';
import { controlPlaneConfig } from '../config/config.ts';
import { rootKeysOf } from '../context.ts';
import { rootKeyOf } from '../store/data-encryption-key.ts';
import { openSqliteDatabase } from '../store/sqlite/sqlite-database.ts';
import { sqliteFileOf } from './sqlite-file.ts';
import { AS_TOOL } from './with-stores.ts';

export const backup: Subcommand = {
  usage: 'FILE',
  summary: 'write an authenticated, consistent copy of the SQLite database to a new file',
  operands: 1,
  run: async ([file = ''], { env, out }) => {
    const config = controlPlaneConfig(env);
    const keys = rootKeysOf(config);
    const { sqlite, kysely, close } = await openSqliteDatabase(sqliteFileOf(config), keys, AS_TOOL);
    try {
      const masterKey = (await rootKeyOf(kysely, keys)).reveal();
      const madeAt = formatTime(systemClock.now());
      await backupSqlite(sqlite, file, { program: 'control-plane', masterKey, madeAt });
    } finally {
      await close();
    }
    out(`Wrote ${file}. It opens with the present master key only: keep that key too.\n`);
  },
};
