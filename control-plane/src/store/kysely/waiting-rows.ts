import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Schema } from '../schema.ts';

/** A table whose rows an unauthenticated client may write and a person has to approve. */
interface WaitingTable {
  readonly name: 'cli_logins' | 'oauth_clients';
  /** Rows that no person has approved; the condition of the table's partial index. */
  readonly waits: RawBuilder<unknown>;
  /** A column that rises with the time at which a row was written. */
  readonly age: string;
}

export const WAITING_CLIENTS: WaitingTable = {
  name: 'oauth_clients',
  waits: sql`last_used_at = created_at`,
  age: 'created_at',
};

export const WAITING_CLI_LOGINS: WaitingTable = {
  name: 'cli_logins',
  waits: sql`user_id IS NULL`,
  age: 'expires_at',
};

/** Of a row, in addition to its texts: ids, times, indexes. */
const ROW_OVERHEAD_BYTES = 512;
/** A group of addresses keeps this much while other groups have more. */
const MIN_GROUP_BYTES = 8 * 1024;
/** Part of the limit that an eviction frees, so that not every row of a flood causes one. */
const FREED_PART = 1 / 16;

/** About how much of the disk a row with these texts takes. */
export const rowBytes = (...texts: readonly (string | null | undefined)[]): number =>
  texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), ROW_OVERHEAD_BYTES);

/**
 * Evicts waiting rows above a total size, from the largest address groups, oldest first in each; only where no group has
 * more than {@link MIN_GROUP_BYTES} does age alone decide. Rows that a person is being asked about stay.
 *
 * @param askedSince a row that a person was asked about after this time is in progress
 */
export async function evictWaiting(
  db: Kysely<Schema>,
  { name, waits, age }: WaitingTable,
  { maxBytes, askedSince }: { readonly maxBytes: number; readonly askedSince: string },
): Promise<void> {
  const table = sql.table(name);
  const waitingBytes = async (): Promise<number> => {
    const { rows } = await sql<{ bytes: number | string | null }>`
      SELECT sum(bytes) AS bytes FROM ${table} WHERE ${waits}`.execute(db);
    return Number(rows[0]?.bytes ?? 0);
  };
  if ((await waitingBytes()) <= maxBytes) return;
  const kept = Math.floor(maxBytes * (1 - FREED_PART));

  const { rows: groups } = await sql<{ bytes: number | string }>`
    SELECT sum(bytes) AS bytes FROM ${table} WHERE ${waits} GROUP BY address_group`.execute(db);
  const share = Math.max(
    MIN_GROUP_BYTES,
    shareOf(
      groups.map(({ bytes }) => Number(bytes)),
      kept,
    ),
  );
  const idle = sql`${waits} AND (asked_at IS NULL OR asked_at <= ${askedSince})`;
  await sql`
    DELETE FROM ${table} WHERE id IN (
      SELECT id FROM (
        SELECT id, sum(bytes) OVER (PARTITION BY address_group ORDER BY ${sql.ref(age)} DESC, id) AS newer
        FROM ${table} WHERE ${idle}
      ) AS ranked WHERE newer > ${share}
    )`.execute(db);

  const excess = (await waitingBytes()) - maxBytes;
  if (excess <= 0) return;
  await sql`
    DELETE FROM ${table} WHERE id IN (
      SELECT id FROM (
        SELECT id, bytes, sum(bytes) OVER (ORDER BY asked_at IS NOT NULL, ${sql.ref(age)}, id) AS older
        FROM ${table} WHERE ${idle}
      ) AS ranked WHERE older - bytes < ${excess + maxBytes - kept}
    )`.execute(db);
}

/** The size to which the largest groups are cut so that all groups together have at most `kept`. */
function shareOf(groups: readonly number[], kept: number): number {
  const ascending = groups.toSorted((a, b) => a - b);
  let left = kept;
  for (const [index, bytes] of ascending.entries()) {
    const each = left / (ascending.length - index);
    if (bytes > each) return Math.floor(each);
    left -= bytes;
  }
  return kept;
}
