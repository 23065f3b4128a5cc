import type { Kysely } from 'kysely';
import type { OverviewStore } from '../../core/overview.ts';
import type { QuotaNoun, QuotaStore } from '../../core/quotas.ts';
import type { Schema } from '../schema.ts';
import { countUpTo } from './queries.ts';

const TABLES = {
  agents: 'agents',
  tokens: 'tokens',
  grants: 'grants',
  folders: 'folders',
  policies: 'policies',
  proxies: 'proxies',
  members: 'users',
  admin_keys: 'admin_keys',
  providers: 'providers',
} as const satisfies Record<QuotaNoun, keyof Schema>;

export function createQuotaStore(db: Kysely<Schema>): QuotaStore {
  return {
    count: (vaultId, noun, upTo) => {
      if (noun === 'agents') {
        const agents = db.selectFrom('agents').where('vault_id', '=', vaultId);
        return countUpTo(db, agents.where('status', 'in', ['active', 'suspended']), upTo);
      }
      return countUpTo(db, db.selectFrom(TABLES[noun]).where('vault_id', '=', vaultId), upTo);
    },
  };
}

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
