import { moveToPostgres } from '../move/move-to-postgres.ts';
import { openPostgresDatabase } from './postgres-database.ts';
import { readPostgresSchema } from './prepare.ts';

/** What is loaded where PostgreSQL is used, in one piece: each piece more is a file more that every start reads. */
export const POSTGRES = {
  open: openPostgresDatabase,
  readSchema: readPostgresSchema,
  moveTo: moveToPostgres,
};
