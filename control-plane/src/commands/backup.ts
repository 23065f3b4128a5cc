import type { Subcommand } from '@svault/server-kit/program';
import { backupSqlite } from '@svault/server-kit/sqlite-backup';
import { controlPlaneConfig } from '../config/config.ts';
import { operatorKeys } from '../context.ts';
import { openSqliteDatabase } from '../store/sqlite-database.ts';
import { sqliteFileOf } from './sqlite-file.ts';
import { AS_TOOL } from './with-stores.ts';

export const backup: Subcommand = {
  usage: 'FILE',
  summary: 'write a consistent copy of the SQLite database to a new file',
  operands: 1,
  run: async ([file = ''], { env, out }) => {
    const config = controlPlaneConfig(env);
    const { sqlite, close } = await openSqliteDatabase(sqliteFileOf(config), operatorKeys(config), AS_TOOL);
    try {
      await backupSqlite(sqlite, file);
    } finally {
      await close();
    }
    out(`Wrote ${file}. It opens with the present master key only: keep that key too.\n`);
  },
};
