import type { Step } from '@svault/server-kit/schema-steps';
import type { Kysely } from 'kysely';
import type { Schema } from '../schema.ts';
import type { DatabaseAddress } from '../../core/database-address.ts';

export type DatabaseKind = DatabaseAddress['kind'];

/** One step of the schema, in Kysely's builder so that it runs on SQLite and PostgreSQL alike. Released ones do not change. */
export type SchemaMigration = Step & {
  /** @param kind for what only one of the two needs */
  up(db: Kysely<Schema>, kind: DatabaseKind): Promise<void>;
};

export const createIndex = (
  db: Kysely<Schema>,
  name: string,
  table: string,
  columns: readonly string[],
): Promise<void> =>
  db.schema
    .createIndex(name)
    .on(table)
    .columns([...columns])
    .execute();
