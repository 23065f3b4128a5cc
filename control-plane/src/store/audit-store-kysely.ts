import type { Kysely } from 'kysely';
import type { Clock, Id } from '@svault/shared';
import { stampEvent } from '../audit/audit-event.ts';
import type { AuditChain, AuditFilter, AuditStore } from '../audit/audit-store.ts';
import { EMPTY_CHAIN, linkEvent } from '../audit/chain.ts';
import { fromAuditRow, toAuditRow } from './audit-rows.ts';
import type { Schema } from './schema.ts';

/** @param db of a unit of work, so that an event is written with the change it reports */
export function createAuditStore(db: Kysely<Schema>, clock: Clock): AuditStore {
  const chainOf = async (vaultId: Id<'vlt'>): Promise<AuditChain> => {
    const row = await db
      .selectFrom('audit_chains')
      .selectAll()
      .where('vault_id', '=', vaultId)
      .executeTakeFirst();
    if (row === undefined) return { head: EMPTY_CHAIN, start: EMPTY_CHAIN };
    return {
      head: { seq: Number(row.head_seq), hash: row.head_hash },
      start: { seq: Number(row.start_seq), hash: row.start_hash },
    };
  };

  return {
    chainOf,

    append: async (event) => {
      const { head, start } = await chainOf(event.vaultId);
      const linked = linkEvent(head, stampEvent(event, clock.now()));
      await db.insertInto('audit_events').values(toAuditRow(linked)).execute();
      const moved = { head_seq: linked.seq, head_hash: linked.hash };
      await db
        .insertInto('audit_chains')
        .values({
          vault_id: event.vaultId,
          ...moved,
          start_seq: start.seq,
          start_hash: start.hash,
          shipped_seq: 0,
        })
        .onConflict((conflict) => conflict.column('vault_id').doUpdateSet(moved))
        .execute();
    },

    list: async (vaultId, filter, { limit, before }) => {
      let query = filtered(db, vaultId, filter);
      if (before !== undefined) query = query.where('seq', '<', before);
      const rows = await query.orderBy('seq', 'desc').limit(limit).execute();
      return rows.map(fromAuditRow);
    },

    after: async (vaultId, seq, limit) => {
      const rows = await db
        .selectFrom('audit_events')
        .selectAll()
        .where('vault_id', '=', vaultId)
        .where('seq', '>', seq)
        .orderBy('seq')
        .limit(limit)
        .execute();
      return rows.map(fromAuditRow);
    },

    vaultsWithEvents: async () => {
      const rows = await db.selectFrom('audit_chains').select('vault_id').orderBy('vault_id').execute();
      return rows.map((row) => row.vault_id);
    },

    backlog: async (limit) => {
      const rows = await db
        .selectFrom('audit_chains')
        .innerJoin('webhook_links', 'webhook_links.vault_id', 'audit_chains.vault_id')
        .select(['audit_chains.vault_id', 'shipped_seq'])
        .whereRef('shipped_seq', '<', 'head_seq')
        .orderBy('audit_chains.vault_id')
        .limit(limit)
        .execute();
      return rows.map((row) => ({ vaultId: row.vault_id, shippedSeq: Number(row.shipped_seq) }));
    },

    markShipped: async (vaultId, seq) => {
      await db
        .updateTable('audit_chains')
        .set({ shipped_seq: seq })
        .where('vault_id', '=', vaultId)
        .where('shipped_seq', '<', seq)
        .execute();
    },
  };
}

function filtered(db: Kysely<Schema>, vaultId: Id<'vlt'>, filter: AuditFilter) {
  const { agentId, serviceName, eventType, from, to } = filter;
  let query = db.selectFrom('audit_events').selectAll().where('vault_id', '=', vaultId);
  if (agentId !== undefined) query = query.where('agent_id', '=', agentId);
  if (serviceName !== undefined) query = query.where('service_name', '=', serviceName);
  if (eventType !== undefined) query = query.where('event_type', '=', eventType);
  if (from !== undefined) query = query.where('occurred_at', '>=', from);
  if (to !== undefined) query = query.where('occurred_at', '<', to);
  return query;
}
