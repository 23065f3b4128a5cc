import { randomToken } from '@svault/shared';
import { type Kysely, sql } from 'kysely';
import type { LeaderLease } from '../../core/background-job.ts';
import type { Schema } from '../schema.ts';

/** Twice the longest work that must not outlast it: a lease that is granted has at least half of this left. */
const LEASE = sql.lit('30 s');
const MIN_LEFT = sql.lit('15 s');
/** A statement compares by the time at which it began, which may be some seconds before another took the lease. */
const MAX_LEFT = sql.lit('60 s');

const OWNER_BYTES = 16;

/**
 * A row that names the leading process (`migrations/002-database.ts`). A row that another process has locked is skipped, not
 * waited for: that process is taking it. An end far in the future shows that the clock was set back, and is ignored.
 *
 * Another process follows one that was killed within 30 seconds, and one that stops at once.
 */
export function createLeaderLease(db: Kysely<Schema>): LeaderLease {
  const owner = randomToken(OWNER_BYTES);
  const own = sql`owner = ${owner} AND held_until BETWEEN now() + interval ${MIN_LEFT} AND now() + interval ${LEASE}`;
  const ask = async () => {
    const { rows } = await sql<{ readonly held: boolean; readonly there: boolean }>`
      WITH due AS (
        SELECT work FROM background_claims
        WHERE work = 'all' AND NOT (${own})
          AND (owner = ${owner} OR held_until NOT BETWEEN now() AND now() + interval ${MAX_LEFT})
        FOR UPDATE SKIP LOCKED
      ), taken AS (
        UPDATE background_claims SET owner = ${owner}, held_until = now() + interval ${LEASE}
        WHERE work IN (SELECT work FROM due)
        RETURNING work
      )
      SELECT EXISTS (SELECT FROM background_claims WHERE work = 'all') AS there,
        EXISTS (SELECT FROM taken)
          OR EXISTS (SELECT FROM background_claims WHERE work = 'all' AND ${own}) AS held`.execute(db);
    return rows[0];
  };

  return {
    acquire: async () => {
      const { held = false, there = false } = (await ask()) ?? {};
      // An operator who emptied the table, or copied the other tables only, must not stop the work for ever.
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
