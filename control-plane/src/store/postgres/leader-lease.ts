import { randomToken } from '@svault/shared';
import { type Kysely, sql } from 'kysely';
import type { LeaderLease } from '../../core/background-job.ts';
import type { Schema } from '../schema/schema.ts';

/** Twice the call that must not outlast it: a lease that is given has at least half of this left. */
const HELD_FOR = sql.lit('30 s');
const LEFT_AT_LEAST = sql.lit('15 s');
/** Who asks sees an end by the time at which its statement began, which may be some seconds before the lease was taken. */
const NO_END_BEYOND = sql.lit('60 s');

const OWNER_BYTES = 16;

/**
 * A row that says whose turn it is (migrations/002-database.ts). What others have locked is skipped and not waited for: they are
 * taking it. An end far beyond the longest one is of a clock that was set back since, and holds nobody off.
 *
 * A process that is killed is followed within 30 seconds, one that stops at once.
 */
export function createLeaderLease(db: Kysely<Schema>): LeaderLease {
  const owner = randomToken(OWNER_BYTES);
  const own = sql`owner = ${owner} AND held_until BETWEEN now() + interval ${LEFT_AT_LEAST} AND now() + interval ${HELD_FOR}`;
  const ask = async () => {
    const { rows } = await sql<{ readonly held: boolean; readonly there: boolean }>`
      WITH due AS (
        SELECT work FROM background_claims
        WHERE work = 'all' AND NOT (${own})
          AND (owner = ${owner} OR held_until NOT BETWEEN now() AND now() + interval ${NO_END_BEYOND})
        FOR UPDATE SKIP LOCKED
      ), taken AS (
        UPDATE background_claims SET owner = ${owner}, held_until = now() + interval ${HELD_FOR}
        WHERE work IN (SELECT work FROM due)
        RETURNING work
      )
      SELECT EXISTS (SELECT FROM background_claims WHERE work = 'all') AS there,
        EXISTS (SELECT FROM taken)
          OR EXISTS (SELECT FROM background_claims WHERE work = 'all' AND ${own}) AS held`.execute(db);
    return rows[0];
  };

  return {
    hold: async () => {
      const { held = false, there = false } = (await ask()) ?? {};
      // Whoever emptied the table, or took the rows of a database without it, must not stop the work for ever.
      if (!there)
        await sql`INSERT INTO background_claims VALUES ('all', '', '-infinity') ON CONFLICT DO NOTHING`.execute(
          db,
        );
      return held;
    },
    release: async () => {
      await sql`UPDATE background_claims SET held_until = '-infinity' WHERE owner = ${owner}`.execute(db);
    },
  };
}
