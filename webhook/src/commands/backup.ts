import type { Subcommand } from '@svault/server-kit/program';
import { backupSqlite } from '@svault/server-kit/sqlite-backup';
import { formatTime, systemClock } from '@svault/shared';
import { withVault } from './with-vault.ts';

export const backupCommand: Subcommand = {
  usage: 'FILE',
  summary: 'Write an authenticated copy of the vault to a new file; it opens with the same master key.',
  operands: 1,
  run: ([file = ''], surroundings) =>
    withVault(surroundings, async ({ db, keyring, say }) => {
      const { key: masterKey, derivation } = keyring.newest();
      const madeAt = formatTime(systemClock.now());
      await backupSqlite(db, file, { program: 'webhook', masterKey, madeAt, derivation });
      say(`backed up to ${file}`);
    }),
};
