import { randomBytes } from 'node:crypto';
import { withPauses } from '@svault/server-kit/disk-probe';
import { DiskFull } from '@svault/server-kit/storage-failure';
import type { Clock } from '@svault/shared';
import type { Kysely } from 'kysely';
import type { Schema } from '../schema.ts';

/** Does not compress, so that it needs new pages. */
const PROBE_BYTES = 48 * 1024;
/** Of a row that is deleted in the transaction that inserts it; migrations have ids above 0. */
const PROBE_ID = -1;

/**
 * Notices that the server's disk is full (SQLSTATE 53100), which a read does not show: from the first write that fails for it
 * until a trial write succeeds.
 */
export function createFullDiskWatch(db: Kysely<Schema>, clock: Clock) {
  let isFull = false;
  const tryWrite = withPauses(
    () =>
      db.transaction().execute(async (transaction) => {
        const name = randomBytes(PROBE_BYTES).toString('base64');
        await transaction.insertInto('schema_migrations').values({ id: PROBE_ID, name }).execute();
        await transaction.deleteFrom('schema_migrations').where('id', '=', PROBE_ID).execute();
      }),
    clock,
  );
  return {
    /** Notes the outcome of a write. */
    watch: <T>(write: Promise<T>): Promise<T> =>
      write.catch((error: unknown) => {
        if (error instanceof DiskFull) isFull = true;
        throw error;
      }),
    /** @throws DiskFull */
    check: async (): Promise<void> => {
      if (!isFull) return;
      await tryWrite();
      isFull = false;
    },
  };
}
