import type { Kysely, Selectable } from 'kysely';
import { pageOf } from '../../core/paging.ts';
import type { TokenMetadata, TokenStore } from '../../core/token.ts';
import { afterKey, chunksOf } from './pagination.ts';
import type { Schema } from '../schema/schema.ts';

export function createTokenStore(db: Kysely<Schema>): TokenStore {
  return {
    add: async (token) => {
      const { numInsertedOrUpdatedRows } = await db
        .insertInto('tokens')
        .values(toRow(token))
        .onConflict((conflict) => conflict.columns(['vault_id', 'service_name']).doNothing())
        .executeTakeFirstOrThrow();
      return (numInsertedOrUpdatedRows ?? 0n) > 0n;
    },
    get: async (vaultId, serviceName) => {
      const row = await db
        .selectFrom('tokens')
        .selectAll()
        .where('vault_id', '=', vaultId)
        .where('service_name', '=', serviceName)
        .executeTakeFirst();
      return row && toToken(row);
    },
    known: async (vaultId, serviceNames) => {
      const known = new Set<string>();
      for (const chunk of chunksOf(serviceNames)) {
        const rows = await db
          .selectFrom('tokens')
          .select('service_name')
          .where('vault_id', '=', vaultId)
          .where('service_name', 'in', chunk)
          .execute();
        for (const row of rows) known.add(row.service_name);
      }
      return known;
    },
    ofServices: async (vaultId, serviceNames) => {
      const tokens: TokenMetadata[] = [];
      for (const chunk of chunksOf(serviceNames)) {
        const rows = await db
          .selectFrom('tokens')
          .selectAll()
          .where('vault_id', '=', vaultId)
          .where('service_name', 'in', chunk)
          .execute();
        tokens.push(...rows.map(toToken));
      }
      return tokens;
    },
    list: async (vaultId, page) => {
      const rows = await db
        .selectFrom('tokens')
        .selectAll()
        .where('vault_id', '=', vaultId)
        .where(afterKey(['service_name'], page))
        .orderBy('service_name')
        .limit(page.limit + 1)
        .execute();
      return pageOf(rows.map(toToken), page.limit, ({ serviceName }) => [serviceName]);
    },
    update: async (vaultId, serviceName, { displayName, description, notes, tags }, updatedAt) => {
      await db
        .updateTable('tokens')
        .set({
          updated_at: updatedAt,
          ...(displayName !== undefined && { display_name: displayName }),
          ...(description !== undefined && { description }),
          ...(notes !== undefined && { notes }),
          ...(tags !== undefined && { tags: JSON.stringify(tags) }),
        })
        .where('vault_id', '=', vaultId)
        .where('service_name', '=', serviceName)
        .execute();
    },
    markRejected: async (vaultId, serviceName, at) => {
      const { numUpdatedRows } = await db
        .updateTable('tokens')
        .set({ upstream_rejected_at: at })
        .where('vault_id', '=', vaultId)
        .where('service_name', '=', serviceName)
        .where('upstream_rejected_at', 'is', null)
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },
    clearRejected: async (vaultId, serviceName) => {
      await db
        .updateTable('tokens')
        .set({ upstream_rejected_at: null })
        .where('vault_id', '=', vaultId)
        .where('service_name', '=', serviceName)
        .execute();
    },
    remove: async (vaultId, serviceName) => {
      const { numDeletedRows } = await db
        .deleteFrom('tokens')
        .where('vault_id', '=', vaultId)
        .where('service_name', '=', serviceName)
        .executeTakeFirstOrThrow();
      return numDeletedRows > 0n;
    },
  };
}

type Row = Selectable<Schema['tokens']>;

function toRow(token: TokenMetadata): Row {
  return {
    vault_id: token.vaultId,
    service_name: token.serviceName,
    token_type: token.tokenType,
    display_name: token.displayName,
    description: token.description,
    notes: token.notes,
    tags: JSON.stringify(token.tags),
    created_at: token.createdAt,
    updated_at: token.updatedAt,
    upstream_rejected_at: token.upstreamRejectedAt ?? null,
  };
}

function toToken(row: Row): TokenMetadata {
  return {
    vaultId: row.vault_id,
    serviceName: row.service_name,
    tokenType: row.token_type,
    displayName: row.display_name,
    description: row.description,
    notes: row.notes,
    tags: JSON.parse(row.tags) as string[],
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    upstreamRejectedAt: row.upstream_rejected_at ?? undefined,
  };
}
