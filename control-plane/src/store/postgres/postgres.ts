/** What is loaded where PostgreSQL is used, in one piece. */
export { moveToPostgres } from '../move/move-to-postgres.ts';
export { openPostgresDatabase } from './postgres-database.ts';
export { readPostgresSchema } from './prepare.ts';
