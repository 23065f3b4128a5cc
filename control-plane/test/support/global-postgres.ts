import { Kysely, PostgresDialect } from 'kysely';
import { Secret } from '@svault/shared';
import { silentLogger } from '@svault/server-kit/logger';
import { startPostgres } from '@svault/test-kit/postgres-server';
import { NO_REDIS, REDIS_PROGRAM, startRedis } from '@svault/test-kit/redis-server';
import { administer, databaseUrl } from '@svault/test-kit/test-database';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../src/store/migrations/migrate.ts';
import { createPostgresPool } from '../../src/store/postgres/postgres-pool.ts';
import type { Schema } from '../../src/store/schema.ts';
import { textInByteOrder } from '../../src/store/postgres/text-in-byte-order.ts';

const TEMPLATE = 'svault_template';

/**
 * For a project whose tests keep the service's state in PostgreSQL and its limits in Redis: starts both once, and
 * migrates a database that each test's own is copied from.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startPostgres();
  await administer(postgres.url, `CREATE DATABASE ${TEMPLATE}`);
  await migrateTemplate(databaseUrl(postgres.url, TEMPLATE));
  project.provide('postgres', { url: postgres.url, template: TEMPLATE });
  if (REDIS_PROGRAM === undefined) {
    process.stderr.write(`\n${project.name}: limits are kept in the process, since this ${NO_REDIS}\n\n`);
    return () => postgres.remove();
  }
  const redis = await startRedis();
  project.provide('redis', redis.url);
  return async () => {
    await redis.kill();
    await postgres.remove();
  };
}

async function migrateTemplate(url: string): Promise<void> {
  const pool = createPostgresPool({
    url: new Secret(url),
    maxConnections: 1,
    timeouts: { connectMs: 5_000, statementMs: 0, lockMs: 0 },
    logger: silentLogger,
  });
  const kysely = new Kysely<Schema>({
    dialect: new PostgresDialect({ pool: pool.forKysely }),
    plugins: [textInByteOrder],
  });
  await migrate(kysely, 'postgres');
  await kysely.destroy();
}
