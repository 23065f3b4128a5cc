import type { Kysely } from 'kysely';
import type { Schema } from './schema.ts';

/** One step of the schema, in Kysely's builder so that it runs on SQLite and PostgreSQL alike. */
export interface SchemaMigration {
  /** Ascending and never reused; 001–099 management, 1xx decision and link, 2xx policies. */
  readonly id: number;
  readonly name: string;
  up(db: Kysely<Schema>): Promise<void>;
}
