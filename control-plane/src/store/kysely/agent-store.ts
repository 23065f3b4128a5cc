import { type Kysely, type SqlBool, sql } from 'kysely';
import type { Id } from '@svault/shared';
import type { Agent, AgentStore } from '../../core/agent.ts';
import type { Schema } from '../schema.ts';
import { nameColumns, nameHash } from './name-store.ts';
import { first, nameContains, pageBy, run } from './queries.ts';
import { type RowOf, toChanges, toEntity, toRow } from './rows.ts';

/** Without the key. */
export const AGENT = [
  'id',
  'vault_id',
  'owner_id',
  'name',
  'description',
  'status',
  'mcp_enabled',
  'sealing_key_thumbprint',
  'key_prefix',
  'created_at',
  'last_used_at',
] as const;

const NOT_DELETED = sql<SqlBool>`status != 'deleted'`;

export function createAgentStore(db: Kysely<Schema>): AgentStore {
  const agents = (vaultId: Id<'vlt'>) =>
    db.selectFrom('agents').select(AGENT).where('vault_id', '=', vaultId);
  const update = (vaultId: Id<'vlt'>, id: Id<'agt'>) =>
    db.updateTable('agents').where('vault_id', '=', vaultId).where('id', '=', id);
  return {
    named: (vaultId, name) => first(agents(vaultId).where('name_hash', '=', nameHash(name)), toAgent),
    add: (agent) => run(db.insertInto('agents').values({ ...toRow(agent), ...nameColumns(agent.name) })),
    get: (vaultId, id) => first(agents(vaultId).where('id', '=', id as Id<'agt'>), toAgent),
    list: (vaultId, status, page) => {
      const all = agents(vaultId);
      const [query, conditions] =
        status === undefined ? [all, [NOT_DELETED]] : [all.where('status', '=', status), []];
      return pageBy(['created_at', 'id'], query, page, toAgent, [...conditions, ...nameContains(page.name)]);
    },
    listAll: (vaultId, page) => pageBy(['created_at', 'id'], agents(vaultId), page, toAgent),
    update: (vaultId, id, { name, description, mcpEnabled, sealingKeyThumbprint }) =>
      run(
        update(vaultId, id).set({
          ...toChanges({ name, description, mcpEnabled, sealingKeyThumbprint }),
          ...(name !== undefined && nameColumns(name)),
        }),
      ),
    setStatus: (vaultId, id, status) => run(update(vaultId, id).set({ status })),
    markDeleted: (vaultId, id) =>
      run(update(vaultId, id).set({ status: 'deleted', key_wrapped: null, name_hash: null })),
    setKey: (vaultId, id, { keyHash, keyPrefix, keyWrapped }) =>
      run(update(vaultId, id).set(toRow({ keyHash, keyPrefix, keyWrapped }))),
    wrappedKey: (vaultId, id) =>
      first(
        agents(vaultId).clearSelect().select('key_wrapped').where('id', '=', id),
        (row) => row.key_wrapped ?? undefined,
      ),
  };
}

export const toAgent = (row: RowOf<Agent>): Agent => ({
  ...toEntity(row),
  mcpEnabled: row.mcp_enabled === 1,
});
