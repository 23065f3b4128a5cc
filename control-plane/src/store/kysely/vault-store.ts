import type { Kysely } from 'kysely';
import type { SetupStore } from '../../core/setup.ts';
import type { VaultStore } from '../../core/vault.ts';
import type { Engine } from '../engine.ts';
import type { Schema } from '../schema.ts';
import { all, first, run } from './queries.ts';
import { toEntity } from './rows.ts';

export function createVaultStore(db: Kysely<Schema>, lockForUpdate: Engine['lockForUpdate']): VaultStore {
  const vaults = db.selectFrom('vaults').select(['id', 'created_at', 'locked_at', 'access_requests']);
  return {
    lockForUpdate: (vaultId) => lockForUpdate(db, vaultId),
    add: ({ id, createdAt }) => run(db.insertInto('vaults').values({ id, created_at: createdAt })),
    get: (vaultId) =>
      first(vaults.where('id', '=', vaultId), (row) => ({
        ...toEntity(row),
        accessRequests: row.access_requests === 1,
      })),
    setLockedAt: (vaultId, lockedAt) =>
      run(
        db
          .updateTable('vaults')
          .set({ locked_at: lockedAt ?? null })
          .where('id', '=', vaultId),
      ),
    setAccessRequests: (vaultId, accessRequests) =>
      run(
        db
          .updateTable('vaults')
          .set({ access_requests: accessRequests ? 1 : 0 })
          .where('id', '=', vaultId),
      ),
  };
}

export function createSetupStore(db: Kysely<Schema>): SetupStore {
  const marks = db.selectFrom('setup_steps').select(['step', 'state', 'marked_at']);
  return {
    marks: (vaultId) => all(marks.where('vault_id', '=', vaultId), toEntity),
    mark: (vaultId, { step, state, markedAt }, by) => {
      const mark = { state, marked_at: markedAt, marked_by: by };
      return run(
        db
          .insertInto('setup_steps')
          .values({ vault_id: vaultId, step, ...mark })
          .onConflict((conflict) => conflict.columns(['vault_id', 'step']).doUpdateSet(mark)),
      );
    },
  };
}
