import type { Kysely } from 'kysely';
import type { Id } from '@svault/shared';
import { type ApprovalStore, MAX_PENDING } from '../../core/approval.ts';
import type { Schema } from '../schema.ts';
import { countUpTo, first, pageBy, rowsOfChunks, run } from './queries.ts';
import { toEntity, toRow } from './rows.ts';

export function createApprovalStore(db: Kysely<Schema>): ApprovalStore {
  const approvals = (vaultId: Id<'vlt'>) =>
    db.selectFrom('approvals').where('approvals.vault_id', '=', vaultId);
  const counted = (vaultId: Id<'vlt'>) =>
    approvals(vaultId)
      .selectAll()
      .select(({ fn, selectFrom, lit }) =>
        fn
          .coalesce(
            selectFrom('policy_usage')
              .select('used')
              .whereRef('policy_usage.vault_id', '=', 'approvals.vault_id')
              .whereRef('target_type', '=', 'caller_type')
              .whereRef('target_id', '=', 'caller_id')
              .whereRef('rule_id', '=', 'approvals.id'),
            lit(0),
          )
          .as('used'),
      );
  const pending = (vaultId: Id<'vlt'>, now: string) =>
    approvals(vaultId).where('decision', 'is', null).where('expires_at', '>', now);
  const remove = async (ids: readonly Id<'apr'>[]): Promise<void> => {
    if (ids.length === 0) return;
    await run(db.deleteFrom('policy_usage').where('rule_id', 'in', ids));
    await run(db.deleteFrom('approvals').where('id', 'in', ids));
  };

  return {
    add: (approval) => run(db.insertInto('approvals').values(toRow(approval))),
    get: (vaultId, id) => first(counted(vaultId).where('approvals.id', '=', id as Id<'apr'>), toEntity),
    newestOf: (vaultId, requestKey) =>
      first(
        counted(vaultId)
          .where('request_key', '=', requestKey)
          .orderBy('asked_at', 'desc')
          .orderBy('approvals.id', 'desc')
          .limit(1),
        toEntity,
      ),
    ofWebhook: (vaultId, ids) =>
      rowsOfChunks(ids, (chunk) => counted(vaultId).where('webhook_approval_id', 'in', chunk)).then((rows) =>
        rows.map(toEntity),
      ),
    decidedAmong: async (ids) => {
      const decided = db.selectFrom('approvals').select('id').where('decision', 'is not', null);
      const rows = await rowsOfChunks(ids, (chunk) => decided.where('id', 'in', chunk));
      return rows.map(({ id }) => id);
    },
    pendingOf: async ({ vaultId, callerId, serviceName }, now) => {
      const some = pending(vaultId, now);
      const [ofCaller, ofService] = [MAX_PENDING.ofCaller, MAX_PENDING.ofService];
      return {
        ofCaller: await countUpTo(db, some.where('caller_id', '=', callerId), ofCaller),
        ofService: await countUpTo(db, some.where('service_name', '=', serviceName), ofService),
      };
    },
    list: (vaultId, pendingAt, page) => {
      const some = counted(vaultId);
      return pageBy(
        ['asked_at', 'id'],
        pendingAt === undefined
          ? some
          : some.where('decision', 'is', null).where('approvals.expires_at', '>', pendingAt),
        page,
        toEntity,
      );
    },
    decide: ({ vaultId, id, decision, decidedAt, decidedBy, expiresAt }) =>
      run(
        db
          .updateTable('approvals')
          .set(toRow({ decision, decidedAt, decidedBy, expiresAt }))
          .where('vault_id', '=', vaultId)
          .where('id', '=', id),
      ),
    removeBefore: async (expiresAt, atMost) => {
      const ended = db.selectFrom('approvals').select('id').where('expires_at', '<', expiresAt);
      const ids = (await ended.limit(atMost).execute()).map(({ id }) => id);
      await remove(ids);
      return ids.length;
    },
    removeOf: async (vaultId, { callerId, serviceName }) => {
      let ended = approvals(vaultId).select('id');
      if (callerId !== undefined) ended = ended.where('caller_id', '=', callerId);
      if (serviceName !== undefined) ended = ended.where('service_name', '=', serviceName);
      await remove((await ended.execute()).map(({ id }) => id));
    },
  };
}
