import { type Kysely, type SqlBool, sql } from 'kysely';
import { ATTENTION_EVENTS, type AttentionStore } from '../../core/attention.ts';
import type { Schema } from '../schema.ts';
import { fromAuditRow } from './audit-rows.ts';
import { all, chunksOf, run } from './queries.ts';
import { toEntity } from './rows.ts';

/** As the index has it: SQLite takes it for no other text. */
const REPORTS = sql<SqlBool>`event_type in (${sql.join(ATTENTION_EVENTS.map((type) => sql.lit(type)))})`;

export function createAttentionStore(db: Kysely<Schema>): AttentionStore {
  return {
    events: (vaultId, limit) =>
      all(
        db
          .selectFrom('audit_events')
          .selectAll()
          .where('vault_id', '=', vaultId)
          .where(REPORTS)
          .orderBy('seq', 'desc')
          .limit(limit),
        fromAuditRow,
      ),
    expiringGrants: (vaultId, { from, to, limit }) =>
      all(
        db
          .selectFrom('grants')
          .selectAll()
          .where('vault_id', '=', vaultId)
          .where('grant_expires_at', '>', from)
          .where('grant_expires_at', '<=', to)
          .orderBy('grant_expires_at')
          .limit(limit),
        toEntity,
      ),
    rejectedTokens: (vaultId, limit) =>
      all(
        db
          .selectFrom('tokens')
          .select(['service_name', 'upstream_rejected_at'])
          .where('vault_id', '=', vaultId)
          .where('upstream_rejected_at', 'is not', null)
          .orderBy('service_name')
          .limit(limit),
        (row) => ({ serviceName: row.service_name, rejectedAt: row.upstream_rejected_at ?? '' }),
      ),
    seen: async (userId) => {
      const rows = await db
        .selectFrom('attention_marks')
        .select(['item_id', 'seen_at'])
        .where('user_id', '=', userId)
        .execute();
      return new Map(rows.map((row) => [row.item_id, row.seen_at]));
    },
    markSeen: async (userId, { ids, current, at }) => {
      const marked = await db
        .selectFrom('attention_marks')
        .select('item_id')
        .where('user_id', '=', userId)
        .execute();
      const kept = new Set(current);
      const stale = marked.map((row) => row.item_id).filter((id) => !kept.has(id));
      for (const chunk of chunksOf(stale))
        await run(
          db.deleteFrom('attention_marks').where('user_id', '=', userId).where('item_id', 'in', chunk),
        );
      for (const chunk of chunksOf(ids))
        await run(
          db
            .insertInto('attention_marks')
            .values(chunk.map((id) => ({ user_id: userId, item_id: id, seen_at: at })))
            .onConflict((conflict) => conflict.columns(['user_id', 'item_id']).doUpdateSet({ seen_at: at })),
        );
    },
    removeOfUser: (userId) => run(db.deleteFrom('attention_marks').where('user_id', '=', userId)),
  };
}
