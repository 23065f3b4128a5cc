import type { Kysely } from 'kysely';
import type { Id } from '@svault/shared';
import {
  type Proxy,
  type ProxyRemoval,
  type ProxyRemovalStore,
  type ProxyStore,
  parseTemplates,
} from '../../core/proxy.ts';
import type { Schema } from '../schema.ts';
import { nameColumns, nameHash } from './name-store.ts';
import { all, changesRow, first, nameContains, pageBy, run } from './queries.ts';
import { type RowOf, toEntity, toRow } from './rows.ts';

/** Without the key. */
export const PROXY = [
  'id',
  'vault_id',
  'name',
  'kind',
  'upstream_url',
  'upstream_auth_type',
  'service_name',
  'agent_id',
  'header_templates',
  'query_templates',
  'redirects',
  'region',
  'service',
  'status',
  'key_prefix',
  'created_at',
  'revoked_at',
  'last_used_at',
  'revision',
  'delivered_as',
] as const;

export function createProxyStore(db: Kysely<Schema>): ProxyStore {
  const proxies = (vaultId: Id<'vlt'>) => db.selectFrom('proxies').where('vault_id', '=', vaultId);
  const updateAll = (vaultId: Id<'vlt'>) => db.updateTable('proxies').where('vault_id', '=', vaultId);
  const update = (vaultId: Id<'vlt'>, id: Id<'prx'>) => updateAll(vaultId).where('id', '=', id);
  return {
    named: (vaultId, name) =>
      first(proxies(vaultId).select(PROXY).where('name_hash', '=', nameHash(name)), toProxy),
    add: (proxy) => run(db.insertInto('proxies').values({ ...toRow(proxy), ...nameColumns(proxy.name) })),
    get: (vaultId, id) =>
      first(
        proxies(vaultId)
          .select(PROXY)
          .where('id', '=', id as Id<'prx'>),
        toProxy,
      ),
    list: (vaultId, page) => {
      const some = proxies(vaultId).select(PROXY);
      return pageBy(['created_at', 'id'], some, page, toProxy, nameContains(page.name));
    },
    update: (proxy) => {
      const { vaultId, id, name, agentId, revision, upstreamUrl, serviceName } = proxy;
      const { headerTemplates, queryTemplates, redirects, region, service } = proxy;
      const sent = { upstreamUrl, serviceName, headerTemplates, queryTemplates, redirects, region, service };
      const settings = { name, agentId, revision, ...sent };
      return run(update(vaultId, id).set({ ...toRow(settings), ...nameColumns(name) }));
    },
    markRevoked: (vaultId, id, revokedAt) =>
      run(
        update(vaultId, id).set({
          status: 'revoked',
          revoked_at: revokedAt,
          key_wrapped: null,
          name_hash: null,
        }),
      ),
    remove: (vaultId, id) =>
      run(db.deleteFrom('proxies').where('vault_id', '=', vaultId).where('id', '=', id)),
    ofAgent: (vaultId, agentId) =>
      all(
        proxies(vaultId)
          .select([...PROXY, 'key_wrapped'])
          .where('agent_id', '=', agentId)
          .where('status', '=', 'active')
          .orderBy('created_at')
          .orderBy('id'),
        // Only a revoked proxy has none.
        ({ key_wrapped: keyWrapped, ...row }) => ({ ...toProxy(row), keyWrapped: keyWrapped ?? '' }),
      ),
    wrappedKey: (vaultId, id) =>
      first(
        proxies(vaultId).select('key_wrapped').where('id', '=', id),
        (row) => row.key_wrapped ?? undefined,
      ),
    noteDelivered: ({ vaultId, id, revision }, deliveredAs) =>
      changesRow(
        update(vaultId, id)
          .set({ delivered_as: deliveredAs })
          .where('revision', '=', revision)
          .where('status', '=', 'active'),
      ),
    forgetDelivery: (vaultId, id) => run(update(vaultId, id).set({ delivered_as: null })),
    forgetDeliveries: (vaultId) => run(updateAll(vaultId).set({ delivered_as: null })),
  };
}

export const toProxy = (row: RowOf<Proxy>): Proxy => ({
  ...toEntity(row),
  headerTemplates: parseTemplates(row.header_templates),
  queryTemplates: parseTemplates(row.query_templates),
});

export function createProxyRemovalStore(db: Kysely<Schema>): ProxyRemovalStore {
  const updateAll = ({ vaultId, webhookId }: Pick<ProxyRemoval, 'vaultId' | 'webhookId'>) =>
    db.updateTable('proxy_removals').where('vault_id', '=', vaultId).where('webhook_id', '=', webhookId);
  return {
    owe: ({ vaultId, webhookId, proxyId }, now) => {
      const due = { due_at: now, tries: 0 };
      return run(
        db
          .insertInto('proxy_removals')
          .values({ ...toRow({ vaultId, webhookId, proxyId }), ...due })
          .onConflict((conflict) =>
            conflict.columns(['vault_id', 'webhook_id', 'proxy_id']).doUpdateSet(due),
          ),
      );
    },
    due: (now, limit) =>
      all(
        db
          .selectFrom('proxy_removals')
          .select(['vault_id', 'webhook_id', 'proxy_id', 'tries'])
          .where('due_at', '<=', now)
          .orderBy('due_at')
          .limit(limit),
        toEntity,
      ),
    postpone: (removal, { dueAt, tries }) =>
      run(updateAll(removal).set({ due_at: dueAt, tries }).where('proxy_id', '=', removal.proxyId)),
    postponeAll: (of, { now, dueAt }) => run(updateAll(of).set({ due_at: dueAt }).where('due_at', '<=', now)),
    settle: ({ vaultId, webhookId, proxyId }) =>
      run(
        db
          .deleteFrom('proxy_removals')
          .where('vault_id', '=', vaultId)
          .where('webhook_id', '=', webhookId)
          .where('proxy_id', '=', proxyId),
      ),
  };
}
