import { Kysely, PostgresDialect, sql } from 'kysely';
import { aeadReady } from '@svault/server-kit/aead';
import type { Secret } from '@svault/shared';
import { createAccessStore, createProxyAccessStore } from './access-store.ts';
import { createAuditCommit } from './audit-commit.ts';
import { createFullDiskWatch } from './full-disk.ts';
import { createLeaderLease } from './leader-lease.ts';
import type { Database, OpenOptions } from '../database.ts';
import { createPostgresUnitOfWork, postgresEngine } from './unit-of-work.ts';
import { createPostgresPool } from './postgres-pool.ts';
import { preparePostgres } from './prepare.ts';
import type { Schema } from '../schema.ts';
import type { RootKeys } from '../data-encryption-key.ts';
import { createPostgresOutages } from './webhook-outages.ts';
import { createQueues } from '../kysely/queues.ts';
import { createStores } from '../kysely/stores.ts';

/** The credential path has separate connections, so that no amount of management delays it. */
const FOR_CREDENTIALS = 11;
const FOR_WRITES = 5;
/** Each for credentials, lists and proxies. */
const FOR_READS = 2;
const FOR_MANAGEMENT = 6;

const TIMEOUTS = { connectMs: 3_000, statementMs: 3_000, lockMs: 2_000 };

/**
 * Otherwise a statement that is prepared while a table is small would scan or join all of it as long as the connection
 * lives; and none of the statements is worth compiling.
 */
export const BY_INDEX = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
};

/**
 * Otherwise a page of a log that was never analysed, as after a restore, would be the first rows of all the rest, read by a
 * bitmap and sorted: without statistics an account is taken for 1 in 200 rows. No list needs a bitmap.
 */
const IN_ORDER = { enable_bitmapscan: 'off' };

/**
 * Opens a PostgreSQL database and brings its schema up to date. Any number of processes may serve on it.
 *
 * @throws NoDatabase where a tool finds no schema; StorageFailure; WrongMasterKey before anything is changed; NewerSchema
 */
export async function openPostgresDatabase(
  url: Secret,
  rootKeys: RootKeys,
  { clock, logger, opener, migrations, observeCommit }: OpenOptions,
): Promise<Database> {
  await aeadReady();
  const masterKeys = await preparePostgres(url, rootKeys, { logger, opener, migrations });
  const common = { url, timeouts: TIMEOUTS, logger };
  const credentials = createPostgresPool({ ...common, maxConnections: FOR_CREDENTIALS, session: BY_INDEX });
  const management = createPostgresPool({ ...common, maxConnections: FOR_MANAGEMENT, session: IN_ORDER });
  const kysely = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: management.forKysely }) });
  const disk = createFullDiskWatch(kysely, clock);
  const unitOfWork = createPostgresUnitOfWork(kysely, clock);
  const auditCommit = createAuditCommit({ pool: credentials, maxWrites: FOR_WRITES, clock, observeCommit });
  return {
    kysely,
    masterKeys,
    stores: createStores(kysely, clock, postgresEngine),
    unitOfWork: {
      run: (vaultId, work) => disk.watch(unitOfWork.run(vaultId, work)),
      runAcross: (work) => disk.watch(unitOfWork.runAcross(work)),
    },
    accessStore: createAccessStore({ pool: credentials, maxReads: FOR_READS, clock }),
    proxyAccessStore: createProxyAccessStore({ pool: credentials, maxReads: FOR_READS, clock }),
    auditCommit: {
      write: (entry) => disk.watch(auditCommit.write(entry)),
      commit: (entry) => disk.watch(auditCommit.commit(entry)),
    },
    leaderLease: createLeaderLease(kysely),
    outages: createPostgresOutages(kysely, () => clock.monotonic()),
    answers: async () => {
      await sql`SELECT id FROM schema_migrations LIMIT 1`.execute(kysely);
      await disk.check();
    },
    queues: createQueues(kysely, clock),
    connections: () => [
      { pool: 'credentials', ...credentials.use() },
      { pool: 'management', ...management.use() },
    ],
    close: async () => {
      await kysely.destroy();
      await credentials.end();
    },
  };
}
