import { Kysely, PostgresDialect, sql } from 'kysely';
import { aeadReady } from '@svault/server-kit/aead';
import type { Secret } from '@svault/shared';
import { createAccessStore, createProxyAccessStore } from './access-store.ts';
import { createAuditCommit } from './audit-commit.ts';
import { createLeaderLease } from './leader-lease.ts';
import type { Database, OpenOptions } from '../database.ts';
import { createPostgresUnitOfWork, postgresEngine } from './unit-of-work.ts';
import { createPostgresPool } from './postgres-pool.ts';
import { preparePostgres } from './prepare.ts';
import type { Schema } from '../schema/schema.ts';
import type { OperatorKeys } from '../sealing-key.ts';
import { createPostgresOutages } from './webhook-outages.ts';
import { createStores } from '../kysely/stores.ts';

/** The credential path has connections of its own, so that no amount of management keeps it waiting. */
const FOR_CREDENTIALS = 11;
const FOR_WRITES = 5;
/** Three times: credentials, lists and proxies. */
const FOR_READS = 2;
const FOR_MANAGEMENT = 6;

const TIMEOUTS = { connectMs: 3_000, statementMs: 3_000, lockMs: 2_000 };

/**
 * A statement that is prepared while a table is small would otherwise go through all of it for as long as the connection
 * lives, or join it as a whole; and none of these is worth compiling.
 */
export const BY_INDEX = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
};

/**
 * Opens a PostgreSQL database and brings its schema up to date. Any number of processes may serve on it.
 *
 * @throws NoDatabase where a tool finds no schema; StorageFailure; WrongMasterKey before anything is changed; NewerSchema
 */
export async function openPostgresDatabase(
  url: Secret,
  operatorKeys: OperatorKeys,
  { clock, logger, opener }: OpenOptions,
): Promise<Database> {
  await aeadReady();
  const masterKeys = await preparePostgres(url, operatorKeys, { logger, opener });
  const common = { url, timeouts: TIMEOUTS, logger };
  const credentials = createPostgresPool({ ...common, maxConnections: FOR_CREDENTIALS, session: BY_INDEX });
  const management = createPostgresPool({ ...common, maxConnections: FOR_MANAGEMENT });
  const kysely = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: management.forKysely }) });
  return {
    kysely,
    masterKeys,
    stores: createStores(kysely, clock, postgresEngine),
    unitOfWork: createPostgresUnitOfWork(kysely, clock),
    accessStore: createAccessStore({ pool: credentials, maxReads: FOR_READS, clock }),
    proxyAccessStore: createProxyAccessStore({ pool: credentials, maxReads: FOR_READS, clock }),
    auditCommit: createAuditCommit({ pool: credentials, maxWrites: FOR_WRITES, clock }),
    leaderLease: createLeaderLease(kysely),
    outages: createPostgresOutages(kysely, () => clock.monotonic()),
    answers: async () => void (await sql`SELECT id FROM schema_migrations LIMIT 1`.execute(kysely)),
    close: async () => {
      await kysely.destroy();
      await credentials.end();
    },
  };
}
