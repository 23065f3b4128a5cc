import type { Kysely } from 'kysely';
import type { ProxyRemovalStore } from '../../core/proxy.ts';
import type { Schema } from '../schema/schema.ts';

export function createProxyRemovalStore(db: Kysely<Schema>): ProxyRemovalStore {
  return {
    owe: async ({ vaultId, webhookId, proxyId }, now) => {
      const due = { due_at: now, tries: 0 };
      await db
        .insertInto('proxy_removals')
        .values({ vault_id: vaultId, webhook_id: webhookId, proxy_id: proxyId, ...due })
        .onConflict((conflict) => conflict.columns(['vault_id', 'webhook_id', 'proxy_id']).doUpdateSet(due))
        .execute();
    },
    due: async (now, limit) => {
      const rows = await db
        .selectFrom('proxy_removals')
        .selectAll()
        .where('due_at', '<=', now)
        .orderBy('due_at')
        .limit(limit)
        .execute();
      return rows.map((row) => ({
        vaultId: row.vault_id,
        webhookId: row.webhook_id,
        proxyId: row.proxy_id,
        tries: row.tries,
      }));
    },
    postpone: async ({ vaultId, webhookId, proxyId }, { dueAt, tries }) => {
      await db
        .updateTable('proxy_removals')
        .set({ due_at: dueAt, tries })
        .where('vault_id', '=', vaultId)
        .where('webhook_id', '=', webhookId)
        .where('proxy_id', '=', proxyId)
        .execute();
    },
    postponeAll: async ({ vaultId, webhookId }, { now, dueAt }) => {
      await db
        .updateTable('proxy_removals')
        .set({ due_at: dueAt })
        .where('vault_id', '=', vaultId)
        .where('webhook_id', '=', webhookId)
        .where('due_at', '<=', now)
        .execute();
    },
    settle: async ({ vaultId, webhookId, proxyId }) => {
      await db
        .deleteFrom('proxy_removals')
        .where('vault_id', '=', vaultId)
        .where('webhook_id', '=', webhookId)
        .where('proxy_id', '=', proxyId)
        .execute();
    },
  };
}
