import { type Kysely, sql } from 'kysely';
import type { Id } from '@svault/shared';
import type { ActivityStore } from '../../core/activity.ts';
import { CREDENTIAL_REQUESTS } from '../../core/audit-event.ts';
import type { Schema } from '../schema.ts';
import { all, changesRow, chunksOf, run } from './queries.ts';
import { toEntity } from './rows.ts';

/** In place of an agent's id, because a primary key has no nulls. */
const WHOLE_ACCOUNT = '';

export function createActivityStore(db: Kysely<Schema>): ActivityStore {
  const chains = db
    .selectFrom('audit_chains')
    .leftJoin('activity_cursors', 'activity_cursors.vault_id', 'audit_chains.vault_id')
    .select(['head_seq', sql<number>`coalesce(counted_seq, 0)`.as('counted_seq')]);

  return {
    progress: ({ after = '' as Id<'vlt'>, limit }) =>
      all(
        chains
          .select('audit_chains.vault_id')
          .where('audit_chains.vault_id', '>', after)
          .orderBy('audit_chains.vault_id')
          .limit(limit),
        toEntity,
      ),

    progressOf: async (vaultId) => {
      const row = await chains.where('audit_chains.vault_id', '=', vaultId).executeTakeFirst();
      return { countedSeq: row?.counted_seq ?? 0, headSeq: row?.head_seq ?? 0 };
    },

    add: async (vaultId, { from, to, counts }) => {
      await run(
        db
          .insertInto('activity_cursors')
          .values({ vault_id: vaultId, counted_seq: 0 })
          .onConflict((conflict) => conflict.column('vault_id').doNothing()),
      );
      const moved = db
        .updateTable('activity_cursors')
        .set({ counted_seq: to })
        .where('vault_id', '=', vaultId)
        .where('counted_seq', '=', from);
      if (!(await changesRow(moved))) return false;
      const rows = counts.map(({ agentId, startsAt, ...count }) => ({
        ...{ vault_id: vaultId, agent_id: agentId ?? WHOLE_ACCOUNT, starts_at: startsAt },
        ...count,
      }));
      for (const chunk of chunksOf(rows))
        await db
          .insertInto('activity_counts')
          .values(chunk)
          .onConflict((conflict) =>
            conflict
              .columns(['vault_id', 'agent_id', 'bucket', 'starts_at', 'outcome'])
              .doUpdateSet({ requests: sql<number>`activity_counts.requests + excluded.requests` }),
          )
          .execute();
      return true;
    },

    // One statement reads one state of the database: a step of the counting in between neither doubles nor hides events.
    read: (vaultId, { agentId, bucket, from, to, uncounted }) => {
      const counted = db
        .selectFrom('activity_counts')
        .select(['starts_at as at', 'outcome', 'requests'])
        .where('vault_id', '=', vaultId)
        .where('agent_id', '=', agentId ?? WHOLE_ACCOUNT)
        .where('bucket', '=', bucket)
        .where('starts_at', '>=', from)
        .where('starts_at', '<', to);
      const rest = db
        .selectFrom('audit_events')
        .select(['occurred_at', 'event_type', 'outcome', 'agent_id', 'event_count'])
        .where('vault_id', '=', vaultId)
        .where('seq', '>', countedSeqOf(vaultId))
        // Numbers have no gaps. A bound that every plan keeps, where a limit may sort the rest of the log first.
        .where('seq', '<=', sql<number>`${countedSeqOf(vaultId)} + ${uncounted}`);
      let added = db
        .selectFrom(rest.as('looked_at'))
        .select(['occurred_at as at', 'outcome', sql<number>`coalesce(event_count, 1)`.as('requests')])
        .where('event_type', 'in', CREDENTIAL_REQUESTS)
        .where('occurred_at', '>=', from)
        .where('occurred_at', '<', to);
      if (agentId !== undefined) added = added.where('agent_id', '=', agentId);
      return counted.unionAll(added).execute();
    },

    removeOldest: (bucket, before) =>
      changesRow(
        db
          .deleteFrom('activity_counts')
          .where('bucket', '=', bucket)
          .where('starts_at', '<', before)
          .where('starts_at', '=', ({ selectFrom }) =>
            selectFrom('activity_counts as oldest')
              .select('oldest.starts_at')
              .where('oldest.bucket', '=', bucket)
              .orderBy('oldest.starts_at')
              .limit(1),
          ),
      ),
  };
}

const countedSeqOf = (vaultId: Id<'vlt'>) =>
  sql<number>`coalesce((select counted_seq from activity_cursors where vault_id = ${vaultId}), 0)`;
