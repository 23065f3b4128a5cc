import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { createGroupCommit } from '@svault/server-kit/group-commit';
import { openPlain } from '@svault/server-kit/sqlite';
import { tempDir } from '@svault/test-kit/temp-dir';
import { Kysely } from 'kysely';
import type { TestProject } from 'vitest/node';
import { sqliteDialect } from '../../src/store/sqlite/kysely-dialect.ts';
import { migrate } from '../../src/store/migrations/migrate.ts';
import type { Schema } from '../../src/store/schema.ts';

/**
 * For a project whose tests keep the service's state in SQLite: migrates a file that each test's own is copied from,
 * since a transaction on the disk for every step of the schema is most of what a start costs.
 */
export async function setup(project: TestProject): Promise<() => void> {
  const folder = tempDir();
  const template = join(folder.path, 'template.db');
  const sqlite = openPlain(template);
  const kysely = new Kysely<Schema>({ dialect: sqliteDialect(sqlite, createGroupCommit(sqlite)) });
  await migrate(kysely, 'sqlite');
  await kysely.destroy();
  sqlite.close();
  // As the service makes it.
  chmodSync(template, 0o600);
  project.provide('sqlite', { template });
  return () => folder.remove();
}
