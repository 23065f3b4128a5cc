import { closeSync, existsSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { Kysely } from 'kysely';
import { aeadReady } from '@svault/server-kit/aead';
import { startCheckpoints } from '@svault/server-kit/checkpoint';
import { createDiskProbe } from '@svault/server-kit/disk-probe';
import { createGroupCommit } from '@svault/server-kit/group-commit';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import { makePrivateFolder } from '@svault/server-kit/private-folder';
import { endAfterFailedSync } from '@svault/server-kit/shutdown';
import { type SqliteDatabase, emptyLog, holdServeLock, openPlain } from '@svault/server-kit/sqlite';
import { createAccessStore, createProxyAccessStore } from './access-store.ts';
import { createAuditCommit } from './audit-commit.ts';
import { SOLE_PROCESS } from '../../core/background-job.ts';
import { createSoleProcessOutages } from '../../core/shared-outages.ts';
import { type Database, NoDatabase, type OpenOptions } from '../database.ts';
import { sqliteDialect } from './kysely-dialect.ts';
import { createSqliteUnitOfWork, sqliteEngine } from './unit-of-work.ts';
import { migrate } from '../migrations/migrate.ts';
import type { Schema } from '../schema.ts';
import { type RootKeys, createDataKey, openDataKey } from '../data-encryption-key.ts';
import { createQueues } from '../kysely/queues.ts';
import { createStores } from '../kysely/stores.ts';

export interface OpenSqlite extends Database {
  /** The connection itself, for what only SQLite has. */
  readonly sqlite: SqliteDatabase;
}

/**
 * Opens a SQLite file and brings its schema up to date. A server makes it and its folder where they are missing, and is
 * the only one on the file until it closes it.
 *
 * @throws NoDatabase; AlreadyServing; WrongMasterKey before anything is changed; NewerSchema when a newer program wrote it
 */
export async function openSqliteDatabase(
  path: string,
  rootKeys: RootKeys,
  { clock, logger, opener, migrations, observeCommit }: OpenOptions,
): Promise<OpenSqlite> {
  const undo: (() => Promise<void> | void)[] = [];
  const close = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    await aeadReady();
    if (opener === 'server') {
      makePrivateFolder(dirname(path), 'SV_DATABASE_URL');
      const lock = holdServeLock(path);
      undo.push(() => lock.release());
      // Created here and not by SQLite, for its mode: no other user of the machine reads it. SQLite's log inherits the mode.
      closeSync(openSync(path, 'a', 0o600));
    } else if (!existsSync(path)) throw new NoDatabase(path);
    const sqlite = openPlain(path);
    undo.push(() => void sqlite.close());
    const onSyncFailure = opener === 'server' ? endAfterFailedSync(logger) : undefined;
    const groupCommit = createGroupCommit(sqlite, { onSyncFailure, observe: observeCommit });
    undo.push(() => groupCommit.close());
    const kysely = new Kysely<Schema>({ dialect: sqliteDialect(sqlite, groupCommit) });
    undo.push(() => kysely.destroy());
    const masterKeys = await prepare(kysely, rootKeys, migrations);
    if (opener === 'server') {
      emptyLog(sqlite);
      const checkpoints = startCheckpoints(path);
      undo.push(() => checkpoints.stop());
    }
    const probeDisk = createDiskProbe(path, clock);
    return {
      sqlite,
      kysely,
      masterKeys,
      stores: createStores(kysely, clock, sqliteEngine),
      unitOfWork: createSqliteUnitOfWork(kysely, clock),
      accessStore: createAccessStore(sqlite),
      proxyAccessStore: createProxyAccessStore(sqlite),
      auditCommit: createAuditCommit(sqlite, groupCommit, clock),
      leaderLease: SOLE_PROCESS,
      outages: createSoleProcessOutages(clock),
      answers: async () => {
        await kysely.selectFrom('schema_migrations').select('id').limit(1).execute();
        await probeDisk();
      },
      queues: createQueues(kysely, clock),
      connections: () => [],
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function prepare(
  kysely: Kysely<Schema>,
  rootKeys: RootKeys,
  migrations: OpenOptions['migrations'],
): Promise<MasterKeys> {
  const tables = await kysely.introspection.getTables();
  const hasKey = tables.some(({ name }) => name === 'sealing_keys');
  const known = hasKey ? await openDataKey(kysely, rootKeys) : undefined;
  await migrate(kysely, 'sqlite', { migrations });
  return known ?? createDataKey(kysely, rootKeys);
}
