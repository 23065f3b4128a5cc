import type { Subcommand } from '@svault/server-kit/program';
import { SettingsError } from '@svault/server-kit/settings';
import { holdServeLock } from '@svault/server-kit/sqlite';
import { controlPlaneConfig } from '../config/config.ts';
import { rootKeysOf } from '../context.ts';
import { movedTo, removeMovedMark } from '../store/sqlite/moved-mark.ts';
import { openSqliteDatabase } from '../store/sqlite/sqlite-database.ts';
import { asTool, closing, sqliteFileOf } from './with-database.ts';

const MUST_BE_SQLITE = 'it must name the SQLite database that is moved';

export const moveToPostgres: Subcommand = {
  summary: 'Move the stopped SQLite database to the empty PostgreSQL database in SV_DATABASE_URL_NEXT',
  operands: 0,
  run: async (_operands, { env, clock, out, err }) => {
    const config = controlPlaneConfig(env);
    const path = sqliteFileOf(config, MUST_BE_SQLITE);
    const { databaseNext: url } = config;
    if (url === undefined)
      throw new SettingsError(['SV_DATABASE_URL_NEXT is missing: the PostgreSQL database to move to']);
    // Loaded only where it is used: it brings the driver of PostgreSQL.
    const { POSTGRES } = await import('../store/postgres/postgres.ts');
    const progress = (line: string): void => err(`${line}\n`);
    const { place, moved } = await POSTGRES.moveTo({
      path,
      url,
      rootKeys: rootKeysOf(config),
      clock,
      progress,
    });
    for (const { vaultId, events, head } of moved?.logs ?? [])
      out(`${vaultId} intact, ${events} events, head ${head.hash}\n`);
    out(
      moved === undefined
        ? `The database is at ${place} already. `
        : `Moved ${moved.rows} rows of ${moved.tables} tables to ${place}, and compared each. `,
    );
    out(
      `Set SV_DATABASE_URL to that database, and start. ${path} is kept, and nothing serves on it any more.\n`,
    );
  },
};

export const undoMove: Subcommand = {
  summary: 'Let serve use the SQLite database again that move-to-postgres moved',
  operands: 0,
  run: async (_operands, { env, clock, out }) => {
    const config = controlPlaneConfig(env);
    const path = sqliteFileOf(config, MUST_BE_SQLITE);
    await closing(openSqliteDatabase(path, rootKeysOf(config), asTool(clock)), async ({ sqlite }) => {
      const lock = holdServeLock(path);
      try {
        const place = movedTo(sqlite);
        if (place === undefined) throw new Error(`${path} was not moved`);
        removeMovedMark(sqlite);
        out(
          `serve starts on ${path} again. It has nothing of what was done at ${place} since the move: do not serve on ` +
            'both.\n',
        );
      } finally {
        lock.release();
      }
    });
  },
};
