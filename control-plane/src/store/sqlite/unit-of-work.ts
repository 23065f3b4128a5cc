import type { Clock } from '@svault/shared';
import { type Kysely, sql } from 'kysely';
import type { UnitOfWork } from '../../core/stores.ts';
import { createStores } from '../kysely/stores.ts';
import type { Schema } from '../schema.ts';
import { linkEvent } from '../../audit/chain.ts';
import { chainOf } from '../kysely/audit-store.ts';
import { toAuditRow } from '../kysely/audit-rows.ts';
import { chunksOf } from '../kysely/queries.ts';
import type { Engine } from '../engine.ts';

export function createSqliteUnitOfWork(db: Kysely<Schema>, clock: Clock): UnitOfWork {
  const runAcross: UnitOfWork['runAcross'] = (work) =>
    db.transaction().execute((transaction) => work(createStores(transaction, clock, sqliteEngine)));
  return { run: (_vaultId, work) => runAcross(work), runAcross };
}

/** SQLite's write transactions follow one another, so an account needs no lock. */
export const sqliteEngine: Engine = {
  lockForUpdate: () => Promise.resolve(),

  writeEvents: async (db, vaultId, events, raisesRevision) => {
    const { head, start } = await chainOf(db, vaultId);
    let last = head;
    const linked = events.map((event) => (last = linkEvent(last, event)));
    for (const chunk of chunksOf(linked))
      await db.insertInto('audit_events').values(chunk.map(toAuditRow)).execute();
    const moved = { head_seq: last.seq, head_hash: last.hash };
    const ends = { ...moved, start_seq: start.seq, start_hash: start.hash, shipped_seq: 0 };
    await db
      .insertInto('audit_chains')
      .values({ vault_id: vaultId, ...ends })
      .onConflict((conflict) => conflict.column('vault_id').doUpdateSet(moved))
      .execute();
    if (!raisesRevision) return;
    await db
      .updateTable('vaults')
      .set({ revision: sql<number>`revision + 1` })
      .where('id', '=', vaultId)
      .execute();
  },
};
