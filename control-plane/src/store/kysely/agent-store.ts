import type { Kysely, Selectable } from 'kysely';
import type { Id } from '@svault/shared';
import type { Agent, AgentStore } from '../../core/agent.ts';
import { type PageRequest, pageOf } from '../../core/paging.ts';
import { afterKey } from './pagination.ts';
import type { Schema } from '../schema/schema.ts';

export function createAgentStore(db: Kysely<Schema>): AgentStore {
  const agent = (vaultId: string, id: string) =>
    db
      .updateTable('agents')
      .where('vault_id', '=', vaultId as Agent['vaultId'])
      .where('id', '=', id as Agent['id']);
  const listed = (vaultId: Id<'vlt'>, page: PageRequest) =>
    db
      .selectFrom('agents')
      .selectAll()
      .where('vault_id', '=', vaultId)
      .where(afterKey(['created_at', 'id'], page))
      .orderBy('created_at')
      .orderBy('id')
      .limit(page.limit + 1);
  const keyOf = ({ createdAt, id }: Agent): readonly string[] => [createdAt, id];
  return {
    add: async (added) => {
      await db.insertInto('agents').values(toRow(added)).execute();
    },
    get: async (vaultId, id) => {
      const row = await db
        .selectFrom('agents')
        .selectAll()
        .where('vault_id', '=', vaultId)
        .where('id', '=', id as Agent['id'])
        .executeTakeFirst();
      return row && toAgent(row);
    },
    list: async (vaultId, status, page) => {
      const rows = await listed(vaultId, page)
        .where((eb) => (status === undefined ? eb('status', '!=', 'deleted') : eb('status', '=', status)))
        .execute();
      return pageOf(rows.map(toAgent), page.limit, keyOf);
    },
    listAll: async (vaultId, page) => {
      const rows = await listed(vaultId, page).execute();
      return pageOf(rows.map(toAgent), page.limit, keyOf);
    },
    update: async (vaultId, id, { name, description, mcpEnabled, sealingKeyThumbprint }) => {
      await agent(vaultId, id)
        .set({
          ...(name !== undefined && { name }),
          ...(description !== undefined && { description }),
          ...(mcpEnabled !== undefined && { mcp_enabled: mcpEnabled ? 1 : 0 }),
          ...(sealingKeyThumbprint !== undefined && { sealing_key_thumbprint: sealingKeyThumbprint }),
        })
        .execute();
    },
    setStatus: async (vaultId, id, status) => {
      await agent(vaultId, id).set({ status }).execute();
    },
    markDeleted: async (vaultId, id) => {
      await agent(vaultId, id).set({ status: 'deleted', key_wrapped: null }).execute();
    },
    setKey: async (vaultId, id, { keyHash, keyPrefix, keyWrapped }) => {
      await agent(vaultId, id)
        .set({ key_hash: keyHash, key_prefix: keyPrefix, key_wrapped: keyWrapped })
        .execute();
    },
    wrappedKey: async (vaultId, id) => {
      const row = await db
        .selectFrom('agents')
        .select('key_wrapped')
        .where('vault_id', '=', vaultId)
        .where('id', '=', id)
        .executeTakeFirst();
      return row?.key_wrapped ?? undefined;
    },
  };
}

type Row = Selectable<Schema['agents']>;

function toRow(agent: Parameters<AgentStore['add']>[0]): Row {
  return {
    id: agent.id,
    vault_id: agent.vaultId,
    owner_id: agent.ownerId,
    name: agent.name,
    description: agent.description,
    status: agent.status,
    mcp_enabled: agent.mcpEnabled ? 1 : 0,
    sealing_key_thumbprint: agent.sealingKeyThumbprint ?? null,
    key_hash: agent.keyHash,
    key_prefix: agent.keyPrefix,
    key_wrapped: agent.keyWrapped,
    created_at: agent.createdAt,
    last_used_at: agent.lastUsedAt ?? null,
  };
}

function toAgent(row: Row): Agent {
  return {
    id: row.id,
    vaultId: row.vault_id,
    ownerId: row.owner_id,
    name: row.name,
    description: row.description,
    status: row.status,
    mcpEnabled: row.mcp_enabled === 1,
    sealingKeyThumbprint: row.sealing_key_thumbprint ?? undefined,
    keyPrefix: row.key_prefix,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at ?? undefined,
  };
}
