import type { Kysely, Selectable } from 'kysely';
import type { Grant, GrantStore } from '../../core/grant.ts';
import { pageOf } from '../../core/paging.ts';
import { afterKey, chunksOf } from './pagination.ts';
import type { Schema } from '../schema/schema.ts';

export function createGrantStore(db: Kysely<Schema>): GrantStore {
  return {
    addAll: async (grants) => {
      for (const chunk of chunksOf(grants)) await db.insertInto('grants').values(chunk.map(toRow)).execute();
    },
    get: async (vaultId, agentId, serviceName) => {
      const row = await db
        .selectFrom('grants')
        .selectAll()
        .where('vault_id', '=', vaultId)
        .where('agent_id', '=', agentId)
        .where('service_name', '=', serviceName)
        .executeTakeFirst();
      return row && toGrant(row);
    },
    ofServices: async (vaultId, agentId, serviceNames) => {
      const found: Grant[] = [];
      for (const chunk of chunksOf(serviceNames)) {
        const rows = await db
          .selectFrom('grants')
          .selectAll()
          .where('vault_id', '=', vaultId)
          .where('agent_id', '=', agentId)
          .where('service_name', 'in', chunk)
          .execute();
        found.push(...rows.map(toGrant));
      }
      return found;
    },
    list: async (vaultId, agentId, page) => {
      const rows = await db
        .selectFrom('grants')
        .selectAll()
        .where('vault_id', '=', vaultId)
        .where('agent_id', '=', agentId)
        .where(afterKey(['service_name'], page))
        .orderBy('service_name')
        .limit(page.limit + 1)
        .execute();
      return pageOf(rows.map(toGrant), page.limit, ({ serviceName }) => [serviceName]);
    },
    listAll: async (vaultId, page) => {
      const rows = await db
        .selectFrom('grants')
        .selectAll()
        .where('vault_id', '=', vaultId)
        .where(afterKey(['agent_id', 'service_name'], page))
        .orderBy('agent_id')
        .orderBy('service_name')
        .limit(page.limit + 1)
        .execute();
      return pageOf(rows.map(toGrant), page.limit, ({ agentId, serviceName }) => [agentId, serviceName]);
    },
    remove: async (vaultId, id) => {
      const { numDeletedRows } = await db
        .deleteFrom('grants')
        .where('vault_id', '=', vaultId)
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      return numDeletedRows > 0n;
    },
    removeAll: async (vaultId, ids) => {
      for (const chunk of chunksOf(ids))
        await db.deleteFrom('grants').where('vault_id', '=', vaultId).where('id', 'in', chunk).execute();
    },
    removeOfAgent: async (vaultId, agentId) => {
      const { numDeletedRows } = await db
        .deleteFrom('grants')
        .where('vault_id', '=', vaultId)
        .where('agent_id', '=', agentId)
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    },
    removeOfService: async (vaultId, serviceName) => {
      const rows = await db
        .deleteFrom('grants')
        .where('vault_id', '=', vaultId)
        .where('service_name', '=', serviceName)
        .returningAll()
        .execute();
      return rows.map(toGrant);
    },
  };
}

type Row = Selectable<Schema['grants']>;

function toRow(grant: Grant): Row {
  return {
    id: grant.id,
    vault_id: grant.vaultId,
    agent_id: grant.agentId,
    service_name: grant.serviceName,
    grant_expires_at: grant.grantExpiresAt ?? null,
    refresh_policy: grant.refreshPolicy,
    source_group_id: grant.sourceGroupId ?? null,
    created_at: grant.createdAt,
  };
}

function toGrant(row: Row): Grant {
  return {
    id: row.id,
    vaultId: row.vault_id,
    agentId: row.agent_id,
    serviceName: row.service_name,
    grantExpiresAt: row.grant_expires_at ?? undefined,
    refreshPolicy: row.refresh_policy,
    sourceGroupId: row.source_group_id ?? undefined,
    createdAt: row.created_at,
  };
}
