import type { Subcommand } from '@svault/server-kit/program';
import { backupSqlite } from '@svault/server-kit/sqlite-backup';
import { controlPlaneConfig } from '../config/config.ts';
import { withDatabase } from './with-stores.ts';

export const backup: Subcommand = {
  usage: 'FILE',
  summary: 'write a consistent copy of the database to a new file',
  operands: 1,
  run: async ([file = '']) => {
    const config = controlPlaneConfig(process.env);
    await withDatabase(config, ({ sqlite }) => backupSqlite(sqlite, file));
    process.stdout.write(`Wrote ${file}. It opens with the present master key only: keep that key too.\n`);
  },
};
