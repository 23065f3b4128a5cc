import { openBackup } from '@svault/server-kit/backup-file';
import { makePrivateFolder } from '@svault/server-kit/private-folder';
import type { Subcommand } from '@svault/server-kit/program';
import { whereToGive } from '@svault/server-kit/settings';
import { backupSqlite, wroteBackup } from '@svault/server-kit/sqlite-backup';
import { type Clock, formatTime } from '@svault/shared';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { type ControlPlaneConfig, controlPlaneConfig } from '../config/config.ts';
import { rootKeysOf } from '../context.ts';
import { rootKeyOf } from '../store/data-encryption-key.ts';
import { openSqliteDatabase } from '../store/sqlite/sqlite-database.ts';
import { asTool, closing, sqliteFileOf } from './with-database.ts';

const BY_ITS_TOOLS = 'make backups with pg_dump and bring them back with pg_restore';

export const backup: Subcommand = {
  usage: 'FILE',
  summary: 'Write an authenticated, consistent copy of the SQLite database to a new file',
  operands: 1,
  run: async ([file = ''], { env, clock, out }) => {
    const config = controlPlaneConfig(env);
    const keys = rootKeysOf(config);
    const opening = openSqliteDatabase(sqliteFileOf(config, BY_ITS_TOOLS), keys, asTool(clock));
    await closing(opening, async ({ sqlite, kysely }) => {
      const masterKey = (await rootKeyOf(kysely, keys)).reveal();
      const madeAt = formatTime(clock.now());
      const { backupRecipients: recipients } = config;
      await backupSqlite(sqlite, file, { program: 'control-plane', masterKey, madeAt, recipients });
    });
    out(`${wroteBackup(file, config.backupRecipients)}\n`);
  },
};

/**
 * Takes a backup as the database of an empty place. It is opened and checked under another name first, so that what
 * stands at the database's path afterwards is whole, or nothing does.
 */
export const restoreBackup: Subcommand = {
  usage: 'FILE [IDENTITY]',
  summary:
    'Restore a backup as the SQLite database, where there is none; IDENTITY is the age file of an encrypted one',
  operands: 1,
  optionalOperands: 1,
  run: async ([file = '', identityFile], { env, clock, out }) => {
    const config = controlPlaneConfig(env);
    const databasePath = sqliteFileOf(config, BY_ITS_TOOLS);
    if (['', '-wal'].some((suffix) => existsSync(databasePath + suffix)))
      throw new Error(`there is a database at ${databasePath} already`);
    const folder = dirname(databasePath);
    const made = !existsSync(folder);
    makePrivateFolder(folder, 'SV_DATABASE_URL');
    const staged = `${databasePath}.restoring`;
    const removeStaged = (): void => {
      for (const suffix of ['', '-wal', '-shm']) rmSync(staged + suffix, { force: true });
    };
    // Of a killed restore: its log would be taken for that of this copy.
    removeStaged();
    try {
      const { madeAt } = await openBackup(file, staged, {
        program: 'control-plane',
        identityFile,
        masterKeys: () => Promise.resolve(rootKeysOf(config).map((key) => key.reveal())),
        whereToGiveKey: whereToGive(env, 'SV_MASTER_KEY'),
      });
      await prepare(staged, config, clock);
      renameSync(staged, databasePath);
      out(
        `Restored the backup of ${madeAt}. What was suspended, revoked or rotated after it is as it was before: look ` +
          'through it.\n',
      );
    } catch (error) {
      if (made) rmSync(folder, { recursive: true });
      throw error;
    } finally {
      removeStaged();
    }
  },
};

/** What may have been ended or used since the backup, so that a restore ends all of it. */
export const ENDED_BY_RESTORE = [
  'sessions',
  'login_links',
  'cli_logins',
  'oauth_codes',
  'notifications',
  'approvals',
] as const;

/** Checks the file, and ends what is of its time alone. The webhook may have later settings of proxies: it is given these. */
async function prepare(path: string, config: ControlPlaneConfig, clock: Clock): Promise<void> {
  await closing(openSqliteDatabase(path, rootKeysOf(config), asTool(clock)), async ({ sqlite, kysely }) => {
    if (sqlite.pragma('integrity_check', { simple: true }) !== 'ok')
      throw new Error('the backup is damaged: SQLite finds it inconsistent');
    const approvals = kysely.selectFrom('approvals').select('id');
    await kysely.deleteFrom('policy_usage').where('rule_id', 'in', approvals).execute();
    for (const table of ENDED_BY_RESTORE) await kysely.deleteFrom(table).execute();
    await kysely.updateTable('proxies').set({ delivered_as: null }).execute();
    sqlite.pragma('wal_checkpoint(TRUNCATE)');
  });
}
