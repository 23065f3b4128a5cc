import type { Kysely } from 'kysely';
import type { Id } from '@svault/shared';
import { GRANTS_COUNTED_UP_TO, type GrantStore } from '../../core/grant.ts';
import type { Schema } from '../schema.ts';
import {
  all,
  changesRow,
  chunksOf,
  countsUpTo,
  first,
  ofVault,
  pageBy,
  rowsChanged,
  rowsOfChunks,
  run,
} from './queries.ts';
import { toEntity, toRow } from './rows.ts';

const COUNTED_BY = { agent: 'agent_id', service: 'service_name' } as const;

export function createGrantStore(db: Kysely<Schema>): GrantStore {
  const grantsIn = (vaultId: Id<'vlt'>) => db.selectFrom('grants').where('vault_id', '=', vaultId);
  const grants = (vaultId: Id<'vlt'>) => grantsIn(vaultId).selectAll();
  const remove = (vaultId: Id<'vlt'>) => db.deleteFrom('grants').where('vault_id', '=', vaultId);
  return {
    addAll: async (added) => {
      for (const chunk of chunksOf(added))
        await run(db.insertInto('grants').values(chunk.map((grant) => toRow(grant))));
    },
    get: (vaultId, agentId, serviceName) =>
      first(
        grants(vaultId).where('agent_id', '=', agentId).where('service_name', '=', serviceName),
        toEntity,
      ),
    ofServices: async (vaultId, agentId, serviceNames) => {
      const ofAgent = grants(vaultId).where('agent_id', '=', agentId);
      const rows = await rowsOfChunks(serviceNames, (names) => ofAgent.where('service_name', 'in', names));
      return rows.map(toEntity);
    },
    list: (vaultId, agentId, page) =>
      pageBy(['service_name'], grants(vaultId).where('agent_id', '=', agentId), page, toEntity),
    listAll: (vaultId, page) => pageBy(['agent_id', 'service_name'], grants(vaultId), page, toEntity),
    updateTerms: ({ vaultId, id, grantExpiresAt, refreshPolicy }) =>
      run(
        db
          .updateTable('grants')
          .set({ grant_expires_at: grantExpiresAt ?? null, refresh_policy: refreshPolicy })
          .where('vault_id', '=', vaultId)
          .where('id', '=', id),
      ),
    countsOf: (vaultId, by, keys) =>
      countsUpTo(db, keys, (key) => grantsIn(vaultId).where(COUNTED_BY[by], '=', key), GRANTS_COUNTED_UP_TO),
    remove: (vaultId, id) => changesRow(remove(vaultId).where('id', '=', id)),
    removeAll: async (vaultId, ids) => {
      for (const chunk of chunksOf(ids))
        await run(db.deleteFrom('grants').where(ofVault(vaultId)).where('id', 'in', chunk));
    },
    removeOfAgent: (vaultId, agentId) => rowsChanged(remove(vaultId).where('agent_id', '=', agentId)),
    removeOfService: (vaultId, serviceName) =>
      all(remove(vaultId).where('service_name', '=', serviceName).returningAll(), toEntity),
  };
}
