import type { Kysely, Selectable } from 'kysely';
import { pageOf } from '../../core/paging.ts';
import type { Proxy, ProxyRemovalStore, ProxyStore } from '../../core/proxy.ts';
import type { Schema } from '../schema/schema.ts';
import { afterKey } from './pagination.ts';

export function createProxyStore(db: Kysely<Schema>): ProxyStore {
  return {
    add: async (proxy) => {
      await db.insertInto('proxies').values(toRow(proxy)).execute();
    },
    get: async (vaultId, id) => {
      const row = await db
        .selectFrom('proxies')
        .selectAll()
        .where('vault_id', '=', vaultId)
        .where('id', '=', id as Proxy['id'])
        .executeTakeFirst();
      return row && toProxy(row);
    },
    list: async (vaultId, page) => {
      const rows = await db
        .selectFrom('proxies')
        .selectAll()
        .where('vault_id', '=', vaultId)
        .where(afterKey(['created_at', 'id'], page))
        .orderBy('created_at')
        .orderBy('id')
        .limit(page.limit + 1)
        .execute();
      return pageOf(rows.map(toProxy), page.limit, ({ createdAt, id }) => [createdAt, id]);
    },
    update: async (proxy) => {
      const { id, vault_id, name, upstream_url, service_name, agent_id, header_templates, revision } =
        settingsOf(proxy);
      await db
        .updateTable('proxies')
        .set({ name, upstream_url, service_name, agent_id, header_templates, revision })
        .where('vault_id', '=', vault_id)
        .where('id', '=', id)
        .execute();
    },
    markRevoked: async (vaultId, id, revokedAt) => {
      await db
        .updateTable('proxies')
        .set({ status: 'revoked', revoked_at: revokedAt, key_wrapped: null })
        .where('vault_id', '=', vaultId)
        .where('id', '=', id)
        .execute();
    },
    remove: async (vaultId, id) => {
      await db.deleteFrom('proxies').where('vault_id', '=', vaultId).where('id', '=', id).execute();
    },
    wrappedKey: async (vaultId, id) => {
      const row = await db
        .selectFrom('proxies')
        .select('key_wrapped')
        .where('vault_id', '=', vaultId)
        .where('id', '=', id)
        .executeTakeFirst();
      return row?.key_wrapped ?? undefined;
    },
    noteDelivered: async ({ vaultId, id, revision }, deliveredAs) => {
      const { numUpdatedRows } = await db
        .updateTable('proxies')
        .set({ delivered_as: deliveredAs })
        .where('vault_id', '=', vaultId)
        .where('id', '=', id)
        .where('revision', '=', revision)
        .where('status', '=', 'active')
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },
    forgetDelivery: async (vaultId, id) => {
      await db
        .updateTable('proxies')
        .set({ delivered_as: null })
        .where('vault_id', '=', vaultId)
        .where('id', '=', id)
        .execute();
    },
    forgetDeliveries: async (vaultId) => {
      await db.updateTable('proxies').set({ delivered_as: null }).where('vault_id', '=', vaultId).execute();
    },
  };
}

type Row = Selectable<Schema['proxies']>;

function toRow(proxy: Parameters<ProxyStore['add']>[0]): Row {
  return {
    ...settingsOf(proxy),
    key_hash: proxy.keyHash,
    key_wrapped: proxy.keyWrapped,
  };
}

function settingsOf(proxy: Proxy): Omit<Row, 'key_hash' | 'key_wrapped'> {
  const { headerTemplates } = proxy;
  return {
    id: proxy.id,
    vault_id: proxy.vaultId,
    name: proxy.name,
    upstream_url: proxy.upstreamUrl,
    upstream_auth_type: proxy.upstreamAuthType,
    service_name: proxy.serviceName ?? null,
    agent_id: proxy.agentId ?? null,
    header_templates: headerTemplates === undefined ? null : JSON.stringify(headerTemplates),
    status: proxy.status,
    key_prefix: proxy.keyPrefix,
    created_at: proxy.createdAt,
    revoked_at: proxy.revokedAt ?? null,
    last_used_at: proxy.lastUsedAt ?? null,
    revision: proxy.revision,
    delivered_as: proxy.deliveredAs ?? null,
  };
}

function toProxy(row: Row): Proxy {
  return {
    id: row.id,
    vaultId: row.vault_id,
    name: row.name,
    upstreamUrl: row.upstream_url,
    upstreamAuthType: row.upstream_auth_type,
    serviceName: row.service_name ?? undefined,
    agentId: row.agent_id ?? undefined,
    headerTemplates:
      row.header_templates === null
        ? undefined
        : (JSON.parse(row.header_templates) as Record<string, string>),
    status: row.status,
    keyPrefix: row.key_prefix,
    createdAt: row.created_at,
    revokedAt: row.revoked_at ?? undefined,
    lastUsedAt: row.last_used_at ?? undefined,
    revision: Number(row.revision),
    deliveredAs: row.delivered_as ?? undefined,
  };
}

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
