import type { Id } from '@svault/shared';
import { type Kysely, sql } from 'kysely';
import {
  AGE_PER_PAUSE,
  MAX_PROBE_PAUSE_MS,
  type OutageChange,
  PROBE_EACH_MS,
  PROBE_LEASE_MS,
  SHORT_OUTAGE_MS,
  type SharedOutages,
} from '../../core/shared-outages.ts';
import type { Schema } from '../schema.ts';

/** A change becomes visible up to a statement timeout after its time. */
const OVERLAP_MS = 10_000;
/** A process that has not polled for this long reads every row. */
const FRESH_MS = 5_000;
const ENDED_KEPT_MS = 60_000;

const ms = (milliseconds: number) => sql.raw(`interval '${milliseconds} milliseconds'`);

/**
 * A row for each vault whose webhook is offline (`migrations/008-webhooks.ts`), by the database's clock, since those of the
 * processes differ. An end is kept for a minute, so that every process reads it.
 *
 * @param monotonic milliseconds of this process
 */
export function createPostgresOutages(db: Kysely<Schema>, monotonic: () => number): SharedOutages {
  let readAt = -Infinity;

  const begin = (vaultIds: readonly Id<'vlt'>[]) => sql`
    INSERT INTO webhook_outages (vault_id, since, changed_at, next_probe_at)
    SELECT vault_id, now(), now(), now() FROM unnest(${vaultIds}::text[]) AS vault_id ORDER BY vault_id
    ON CONFLICT (vault_id) DO UPDATE
    SET since = now(), changed_at = now(), next_probe_at = now(), probed_at = NULL, ended_at = NULL
    WHERE webhook_outages.ended_at IS NOT NULL`;
  const end = (vaultIds: readonly Id<'vlt'>[]) => sql`
    WITH old AS (DELETE FROM webhook_outages WHERE ended_at < now() - ${ms(ENDED_KEPT_MS)})
    UPDATE webhook_outages SET ended_at = now(), changed_at = now()
    WHERE vault_id = ANY(${vaultIds}::text[]) AND ended_at IS NULL`;

  return {
    publish: async (changes) => {
      const of = (offline: boolean) =>
        changes.filter(({ isOffline }) => isOffline === offline).map(({ vaultId }) => vaultId);
      const [begun, ended] = [of(true), of(false)];
      if (begun.length > 0) await begin(begun).execute(db);
      if (ended.length > 0) await end(ended).execute(db);
    },
    poll: async () => {
      const now = monotonic();
      const isFresh = now - readAt < FRESH_MS;
      const which = isFresh ? sql`changed_at > now() - ${ms(OVERLAP_MS)}` : sql`ended_at IS NULL`;
      const { rows } = await sql<OutageChange>`
        SELECT vault_id AS "vaultId", ended_at IS NULL AS "isOffline" FROM webhook_outages WHERE ${which}`.execute(
        db,
      );
      readAt = now;
      return isFresh ? { changes: rows } : { offline: new Set(rows.map(({ vaultId }) => vaultId)) };
    },
    takeProbes: async (limit, requested) => {
      const { rows } = await sql<{ readonly vaultId: Id<'vlt'> }>`
        UPDATE webhook_outages SET next_probe_at = now() + ${ms(PROBE_LEASE_MS)}, probed_at = NULL
        WHERE vault_id IN (
          SELECT vault_id FROM webhook_outages
          WHERE ended_at IS NULL AND (
            next_probe_at NOT BETWEEN now() AND now() + 2 * ${ms(MAX_PROBE_PAUSE_MS)}
            OR (vault_id = ANY(${requested}::text[]) AND probed_at <= now() - ${ms(PROBE_EACH_MS)}))
          ORDER BY next_probe_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
        RETURNING vault_id AS "vaultId"`.execute(db);
      return rows.map(({ vaultId }) => vaultId);
    },
    probeFailed: async (vaultId) => {
      await sql`
        UPDATE webhook_outages SET probed_at = now(), next_probe_at = now() + CASE
          WHEN now() - since < ${ms(SHORT_OUTAGE_MS)} THEN ${ms(PROBE_EACH_MS)}
          ELSE least((now() - since) / ${sql.lit(AGE_PER_PAUSE)}, ${ms(MAX_PROBE_PAUSE_MS)}) END
        WHERE vault_id = ${vaultId} AND ended_at IS NULL`.execute(db);
    },
  };
}
