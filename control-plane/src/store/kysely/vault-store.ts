import type { Kysely } from 'kysely';
import type { SetupStore } from '../../core/setup.ts';
import type { VaultStore } from '../../core/vault.ts';
import type { Engine } from '../engine.ts';
import type { Schema } from '../schema/schema.ts';

export function createVaultStore(db: Kysely<Schema>, lockForUpdate: Engine['lockForUpdate']): VaultStore {
  return {
    lockForUpdate: (vaultId) => lockForUpdate(db, vaultId),
    add: async ({ id, createdAt }) => {
      await db.insertInto('vaults').values({ id, created_at: createdAt, locked_at: null }).execute();
    },
    get: async (vaultId) => {
      const row = await db.selectFrom('vaults').selectAll().where('id', '=', vaultId).executeTakeFirst();
      return row && { id: row.id, createdAt: row.created_at, lockedAt: row.locked_at ?? undefined };
    },
    setLockedAt: async (vaultId, lockedAt) => {
      await db
        .updateTable('vaults')
        .set({ locked_at: lockedAt ?? null })
        .where('id', '=', vaultId)
        .execute();
    },
  };
}

export function createSetupStore(db: Kysely<Schema>): SetupStore {
  return {
    marks: async (vaultId) => {
      const rows = await db.selectFrom('setup_steps').selectAll().where('vault_id', '=', vaultId).execute();
      return rows.map(({ step, state, marked_at: markedAt }) => ({ step, state, markedAt }));
    },
    mark: async (vaultId, { step, state, markedAt }, by) => {
      const said = { state, marked_at: markedAt, marked_by: by };
      await db
        .insertInto('setup_steps')
        .values({ vault_id: vaultId, step, ...said })
        .onConflict((conflict) => conflict.columns(['vault_id', 'step']).doUpdateSet(said))
        .execute();
    },
  };
}
