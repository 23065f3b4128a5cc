import type { Subcommand } from '@svault/server-kit/program';
import { backupSqlite } from '@svault/server-kit/sqlite-backup';
import { withVault } from './with-vault.ts';

export const backupCommand: Subcommand = {
  usage: 'FILE',
  summary: 'Write a copy of the vault to a new file; it opens with the same master key.',
  operands: 1,
  run: ([file = ''], surroundings) =>
    withVault(surroundings, async ({ db, say }) => {
      await backupSqlite(db, file);
      say(`backed up to ${file}`);
    }),
};
