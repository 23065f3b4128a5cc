import { StorageFailure } from '@svault/server-kit/storage-failure';
import type { Clock } from '@svault/shared';
import type { Kysely } from 'kysely';
import type { UnitOfWork } from '../../core/stores.ts';
import { postgresEngine } from './engine.ts';
import { cameBetween } from './postgres-errors.ts';
import type { Schema } from '../schema/schema.ts';
import { createKeyedMutex } from './per-account-lock.ts';
import { createStores } from '../kysely/unit-of-work.ts';

const MAX_RUNS = 3;
const MAX_WAIT_MS = 3_000;

/**
 * Transactions at READ COMMITTED, each behind its account's lock. Those of one account also wait for one another within
 * the process, before they take a connection: an account that changes much keeps none from the others.
 */
export function createPostgresUnitOfWork(db: Kysely<Schema>, clock: Clock): UnitOfWork {
  const inTurn = createKeyedMutex({
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
        if (run >= MAX_RUNS || !cameBetween(error)) throw error;
      }
    }
  };

  return {
    run: (vaultId, work) =>
      inTurn(vaultId, () =>
        runAcross(async (stores) => {
          await stores.vaults.lockForUpdate(vaultId);
          return work(stores);
        }),
      ),
    runAcross,
  };
}
