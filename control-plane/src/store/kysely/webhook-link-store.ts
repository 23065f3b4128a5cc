import type { Kysely } from 'kysely';
import type { Id } from '@svault/shared';
import {
  SET_ASIDE_REASONS,
  type SetAside,
  type WebhookLink,
  type WebhookLinkStore,
} from '../../core/webhook-link.ts';
import type { WebhookLinkRow } from '../schema/decision-schema.ts';
import type { Schema } from '../schema/schema.ts';

export function createWebhookLinkStore(db: Kysely<Schema>): WebhookLinkStore {
  return {
    find: async (vaultId) => {
      const row = await db
        .selectFrom('webhook_links')
        .selectAll()
        .where('vault_id', '=', vaultId)
        .executeTakeFirst();
      return row && fromRow(row);
    },

    insert: async (link) => {
      const result = await db
        .insertInto('webhook_links')
        .values(toRow(link))
        .onConflict((conflict) => conflict.column('vault_id').doNothing())
        .executeTakeFirstOrThrow();
      return result.numInsertedOrUpdatedRows === 1n;
    },

    delete: async (vaultId) => {
      const result = await db
        .deleteFrom('webhook_links')
        .where('vault_id', '=', vaultId)
        .executeTakeFirstOrThrow();
      return result.numDeletedRows === 1n;
    },

    setPendingKey: async ({ vaultId, webhookId, key: inUse, pendingKey }, key) => {
      const pending = pendingKey?.wrapped ?? null;
      const result = await db
        .updateTable('webhook_links')
        .set({ pending_key_id: key.id, pending_key_wrapped: key.wrapped })
        .where('vault_id', '=', vaultId)
        .where('webhook_id', '=', webhookId)
        .where('key_wrapped', '=', inUse.wrapped)
        .where('pending_key_wrapped', pending === null ? 'is' : '=', pending)
        .executeTakeFirstOrThrow();
      return result.numUpdatedRows === 1n;
    },

    activatePendingKey: async (vaultId, keyId) => {
      const result = await db
        .updateTable('webhook_links')
        .set(({ ref }) => ({
          key_id: keyId,
          key_wrapped: ref('pending_key_wrapped').$notNull(),
          pending_key_id: null,
          pending_key_wrapped: null,
        }))
        .where('vault_id', '=', vaultId)
        .where('pending_key_id', '=', keyId)
        .executeTakeFirstOrThrow();
      return result.numUpdatedRows === 1n;
    },

    withPendingKey: async ({ after, limit }) => {
      const rows = await db
        .selectFrom('webhook_links')
        .selectAll()
        .where('pending_key_id', 'is not', null)
        .where('vault_id', '>', after ?? ('' as Id<'vlt'>))
        .orderBy('vault_id')
        .limit(limit)
        .execute();
      return rows.map(fromRow);
    },

    ofOpenVaults: async ({ after, limit }) => {
      const rows = await db
        .selectFrom('webhook_links')
        .innerJoin('vaults', 'vaults.id', 'webhook_links.vault_id')
        .selectAll('webhook_links')
        .where('webhook_links.vault_id', '>', after ?? ('' as Id<'vlt'>))
        .where('webhook_links.last_seen_at', 'is not', null)
        .where('vaults.locked_at', 'is', null)
        .orderBy('webhook_links.vault_id')
        .limit(limit)
        .execute();
      return rows.map(fromRow);
    },

    noteSeen: async ({ vaultId, webhookId }, { at, latencyMs, capabilities }) => {
      await db
        .updateTable('webhook_links')
        .set({
          last_seen_at: at,
          latency_ms: latencyMs,
          ...(capabilities !== undefined && { capabilities: JSON.stringify(capabilities) }),
        })
        .where('vault_id', '=', vaultId)
        .where('webhook_id', '=', webhookId)
        .execute();
    },

    setAside: async ({ vaultId, webhookId }, aside) => {
      await db
        .updateTable('webhook_links')
        .set({
          aside_until: aside?.until ?? null,
          aside_reason: aside?.reason ?? null,
          aside_strikes: aside?.strikes ?? 0,
        })
        .where('vault_id', '=', vaultId)
        .where('webhook_id', '=', webhookId)
        .execute();
    },

    logHead: async (vaultId, webhookId) => {
      const row = await db
        .selectFrom('webhook_log_heads')
        .select(['epoch', 'seq', 'hash'])
        .where('vault_id', '=', vaultId)
        .where('webhook_id', '=', webhookId)
        .executeTakeFirst();
      return row && { ...row, seq: Number(row.seq) };
    },

    rememberLogHead: async (vaultId, webhookId, head, at) => {
      const seen = { epoch: head.epoch, seq: head.seq, hash: head.hash, seen_at: at };
      await db
        .insertInto('webhook_log_heads')
        .values({ vault_id: vaultId, webhook_id: webhookId, ...seen })
        .onConflict((conflict) => conflict.columns(['vault_id', 'webhook_id']).doUpdateSet(seen))
        .execute();
    },
  };
}

function toRow(link: WebhookLink): WebhookLinkRow {
  return {
    vault_id: link.vaultId,
    webhook_id: link.webhookId,
    url: link.url,
    key_id: link.key.id,
    key_wrapped: link.key.wrapped,
    pending_key_id: link.pendingKey?.id ?? null,
    pending_key_wrapped: link.pendingKey?.wrapped ?? null,
    capabilities: JSON.stringify(link.capabilities),
    bound_at: link.boundAt,
    bound_by: link.boundBy,
    last_seen_at: link.lastSeenAt ?? null,
    latency_ms: link.latencyMs ?? null,
    aside_until: link.setAside?.until ?? null,
    aside_reason: link.setAside?.reason ?? null,
    aside_strikes: link.setAside?.strikes ?? 0,
  };
}

function fromRow(row: WebhookLinkRow): WebhookLink {
  const { pending_key_id: pendingId, pending_key_wrapped: pendingWrapped } = row;
  return {
    vaultId: row.vault_id,
    webhookId: row.webhook_id,
    url: row.url,
    key: { id: row.key_id, wrapped: row.key_wrapped },
    pendingKey:
      pendingId === null || pendingWrapped === null ? undefined : { id: pendingId, wrapped: pendingWrapped },
    capabilities: JSON.parse(row.capabilities) as string[],
    boundAt: row.bound_at,
    boundBy: row.bound_by,
    lastSeenAt: row.last_seen_at ?? undefined,
    latencyMs: row.latency_ms ?? undefined,
    setAside: asideOf(row),
  };
}

function asideOf(row: WebhookLinkRow): SetAside | undefined {
  const reason = SET_ASIDE_REASONS.find((known) => known === row.aside_reason);
  if (reason === undefined || row.aside_until === null) return undefined;
  return { reason, until: row.aside_until, strikes: row.aside_strikes };
}
