import { StorageFailure } from '@svault/server-kit/storage-failure';
import type { Clock } from '@svault/shared';
import { type Kysely, sql } from 'kysely';
import { setTimeout as delay } from 'node:timers/promises';
import { hashedText } from '@svault/shared/audit-chain';
import type { UnitOfWork } from '../../core/stores.ts';
import type { Engine } from '../engine.ts';
import { createStores } from '../kysely/stores.ts';
import type { Schema } from '../schema.ts';
import { isConflict } from './postgres-errors.ts';

const MAX_RUNS = 3;
const MAX_WAIT_MS = 3_000;

/**
 * Transactions at READ COMMITTED, each under its account's lock. Transactions of one account also wait for one another in
 * the process, before they take a connection: a busy account takes no connection from the others.
 */
export function createPostgresUnitOfWork(db: Kysely<Schema>, clock: Clock): UnitOfWork {
  const runExclusive = createKeyedMutex({
    maxWaitMs: MAX_WAIT_MS,
    tooLate: () => new StorageFailure('other changes of the account take too long'),
  });

  const runAcross: UnitOfWork['runAcross'] = async (work) => {
    for (let run = 1; ; run++) {
      try {
        return await db
          .transaction()
          .execute((transaction) => work(createStores(transaction, clock, postgresEngine)));
      } catch (error) {
        if (run >= MAX_RUNS || !isConflict(error)) throw error;
      }
    }
  };

  return {
    run: (vaultId, work) =>
      runExclusive(vaultId, () =>
        runAcross(async (stores) => {
          await stores.vaults.lockForUpdate(vaultId);
          return work(stores);
        }),
      ),
    runAcross,
  };
}

/** Each function takes the vault's lock first, and a transaction keeps it to its end (`migrations/011-audit.ts`). */
export const postgresEngine: Engine = {
  lockForUpdate: async (db, vaultId) => {
    await sql`SELECT svault_lock(${vaultId})`.execute(db);
  },

  writeEvents: async (db, vaultId, events, raisesRevision) => {
    const texts = events.map(hashedText);
    const behind = texts.map(({ behindNumber }) => behindNumber);
    await sql`SELECT svault_record(${vaultId}, ${texts[0]?.beforeNumber}, ${behind}::text[], ${raisesRevision})`.execute(
      db,
    );
  },
};

/**
 * Mutual exclusion by key: runs the work of a key one after another, in the order of the calls. (`async-mutex` has neither
 * keys nor an error per wait, so it would replace the loop and not the bookkeeping.)
 *
 * @param options.maxWaitMs a call that has waited longer for its key rejects with `tooLate`
 */
function createKeyedMutex(options: {
  readonly maxWaitMs: number;
  readonly tooLate: () => Error;
}): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  /** Of each key the end of its last work. */
  const ends = new Map<string, Promise<void>>();

  const endsInTime = async (end: Promise<void>): Promise<boolean> => {
    const waiting = new AbortController();
    const late = delay(options.maxWaitMs, false, { signal: waiting.signal, ref: false });
    try {
      return await Promise.race([end.then(() => true), late]);
    } finally {
      waiting.abort();
    }
  };

  return async (key, work) => {
    const before = ends.get(key);
    let finish: () => void = () => undefined;
    const own = new Promise<void>((resolve) => (finish = resolve));
    const end = before === undefined ? own : before.then(() => own);
    ends.set(key, end);
    try {
      if (before !== undefined && !(await endsInTime(before))) throw options.tooLate();
      return await work();
    } finally {
      finish();
      if (ends.get(key) === end) ends.delete(key);
    }
  };
}
