import { type Kysely, type SqlBool, sql } from 'kysely';
import type { Id } from '@svault/shared';
import type { Outcome } from '@svault/shared/schemas';
import { type ActivityStore, AlreadyCounted } from '../../core/activity.ts';
import type { Schema } from '../schema.ts';
import { all, changesRow, chunksOf, rowsChanged } from './queries.ts';
import { toEntity } from './rows.ts';

/** In place of an agent's id, because a primary key has no nulls. */
const WHOLE_ACCOUNT = '';

const KEY = ['vault_id', 'agent_id', 'bucket', 'starts_at', 'outcome'] as const;

export function createActivityStore(db: Kysely<Schema>): ActivityStore {
  return {
    backlog: ({ after = '' as Id<'vlt'>, limit }) =>
      all(
        db
          .selectFrom('audit_chains')
          .select(['vault_id', 'counted_seq'])
          .whereRef('counted_seq', '<', 'head_seq')
          .where('vault_id', '>', after)
          .orderBy('vault_id')
          .limit(limit),
        toEntity,
      ),

    add: async (vaultId, { from, to, counts }) => {
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
              .columns(KEY)
              .doUpdateSet({ requests: sql<number>`activity_counts.requests + excluded.requests` }),
          )
          .execute();
      // At the end, since the account's credential requests wait for the row that this locks.
      const moved = db
        .updateTable('audit_chains')
        .set({ counted_seq: to })
        .where('vault_id', '=', vaultId)
        .where('counted_seq', '=', from);
      if (!(await changesRow(moved))) throw new AlreadyCounted();
    },

    // One statement reads one state of the database: a step of the counting in between neither doubles nor hides events.
    read: async (vaultId, { agentIds = [WHOLE_ACCOUNT], bucket, from, to }) => {
      const rows = await db
        .selectFrom('audit_chains')
        .leftJoin('activity_counts as counts', (join) =>
          join
            .onRef('counts.vault_id', '=', 'audit_chains.vault_id')
            .on('counts.agent_id', 'in', [...agentIds])
            .on('counts.bucket', '=', bucket)
            .on('counts.starts_at', '>=', from)
            .on('counts.starts_at', '<', to),
        )
        .where('audit_chains.vault_id', '=', vaultId)
        .select(['counted_seq', 'head_seq', 'agent_id', 'starts_at', 'outcome', 'requests'])
        .execute();
      const [{ counted_seq: countedSeq, head_seq: headSeq } = { counted_seq: 0, head_seq: 0 }] = rows;
      const counts = rows.flatMap(({ agent_id, starts_at: startsAt, outcome, requests }) => {
        if (startsAt === null || requests === null) return [];
        const agentId = agent_id === WHOLE_ACCOUNT ? undefined : (agent_id as Id<'agt'>);
        return [{ agentId, bucket, startsAt, outcome: outcome as Outcome, requests }];
      });
      return { counts, countedSeq, headSeq };
    },

    largest: (vaultId, hours, perHour) => {
      const [first, ...rest] = hours.map((hour) => {
        const largest = db
          .selectFrom('activity_counts')
          .select(['agent_id', 'starts_at', 'requests'])
          .where('vault_id', '=', vaultId)
          .where('starts_at', '=', hour)
          // As the index has it: SQLite takes it for no other text.
          .where(sql<SqlBool>`bucket = 'hour' and agent_id <> '' and requests > 0`)
          .orderBy('requests', 'desc')
          .limit(perHour);
        return db.selectFrom(largest.as('looked_at')).selectAll();
      });
      if (first === undefined) return Promise.resolve([]);
      return all(
        rest.reduce((query, next) => query.unionAll(next), first),
        ({ agent_id, starts_at: startsAt, requests }) => ({
          ...{ agentId: agent_id as Id<'agt'>, startsAt, requests },
        }),
      );
    },

    removeOld: async (bucket, before, limit) => {
      const oldest = db
        .selectFrom('activity_counts')
        .select(KEY)
        .where('bucket', '=', bucket)
        .where('starts_at', '<', before)
        .where(sql<SqlBool>`outcome <> ''`)
        .orderBy('starts_at')
        .limit(limit);
      const key = sql.join(KEY.map((column) => sql.ref(column)));
      const removed = db.deleteFrom('activity_counts').where(sql<SqlBool>`(${key}) in (${oldest})`);
      return (await rowsChanged(removed)) === limit;
    },
  };
}
