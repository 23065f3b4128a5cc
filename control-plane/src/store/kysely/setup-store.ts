import type { Kysely } from 'kysely';
import type { SetupStore } from '../../core/setup.ts';
import type { Schema } from '../schema/schema.ts';

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
