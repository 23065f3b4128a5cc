import type { Kysely } from 'kysely';
import type { OverviewStore } from '../../core/overview.ts';
import { countUpTo } from './count-up-to.ts';
import type { Schema } from '../schema/schema.ts';

export function createOverviewStore(db: Kysely<Schema>): OverviewStore {
  return {
    counts: async (vaultId, { now, soon, upTo }) => {
      const agents = (status: 'active' | 'suspended') =>
        db.selectFrom('agents').where('vault_id', '=', vaultId).where('status', '=', status);
      const grants = db.selectFrom('grants').where('vault_id', '=', vaultId);
      const ending = grants.where('grant_expires_at', '>', now);
      const lasting = await countUpTo(db, grants.where('grant_expires_at', 'is', null), upTo);
      const proxies = db.selectFrom('proxies').where('vault_id', '=', vaultId).where('status', '=', 'active');
      return {
        agentsActive: await countUpTo(db, agents('active'), upTo),
        agentsSuspended: await countUpTo(db, agents('suspended'), upTo),
        tokens: await countUpTo(db, db.selectFrom('tokens').where('vault_id', '=', vaultId), upTo),
        folders: await countUpTo(db, db.selectFrom('folders').where('vault_id', '=', vaultId), upTo),
        grantsLive: Math.min(upTo, lasting + (await countUpTo(db, ending, upTo))),
        grantsEndingSoon: await countUpTo(db, ending.where('grant_expires_at', '<=', soon), upTo),
        policies: await countUpTo(db, db.selectFrom('policies').where('vault_id', '=', vaultId), upTo),
        proxiesActive: await countUpTo(db, proxies, upTo),
      };
    },
  };
}
